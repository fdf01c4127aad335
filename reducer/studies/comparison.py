"""Compare two systems: how much they differ, whether that is chance, and which clips decide it.

All intervals come from the same draws (the coupled bootstrap of the LLMSemDist paper, section 2.2), made as in
`bootstrap`. A system is better only if every interval that must agree lies on its side of 0. Each difference has a
permutation test: how often a difference at least as large results if the two systems are swapped at random on each
clip.

The scale is that of norms, or of a pool of three or more systems. Two systems alone always have Z = +1 and -1, so that
only their raw scores are compared.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.scores.draws import DRAWS, MEAN, POINTS, Clips, Draws, draw
from speechiq.reducer.scores.remarks import explain_missing
from speechiq.reducer.scores.scale import DEFAULT_RULE, LevelScale, Scale, calibrate, flat, score
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.stats.coverage import caution
from speechiq.reducer.stats.interval import Interval
from speechiq.reducer.stats.permutation import DECIMALS, permute
from speechiq.reducer.studies.comparison_frames import comparison_html, difference_frame

if TYPE_CHECKING:
    import pandas as pd

SIQ = "siq"
TAIL_ALLOWANCE_OF_PAIR = 1.0
NO_SCALE = (
    "two systems alone always have Z +1 and -1, so that SIQ needs a scale; "
    "add --norms demo, --norms FILE, or further runs"
)


class Difference(NamedTuple):
    """The score of system a minus that of system b; differences below 1e-9 are rounding and count as 0.

    Attributes:
        a: Score of a.
        b: Score of b.
        low: Lower end of the difference's 95 % interval; NaN without draws.
        high: Upper end of the same interval.
        p: Two-sided p value of the permutation test.
    """

    a: float
    b: float
    low: float
    high: float
    p: float

    @property
    def value(self) -> float:
        """Return the difference."""
        return round(self.a - self.b, DECIMALS) + 0.0

    @property
    def side(self) -> int:
        """Return 1 if the interval favors a, -1 if it favors b, and 0 if it includes 0."""
        return int(self.low > 0) - int(self.high < 0)


class Share(NamedTuple):
    """A clip's part in the difference.

    Attributes:
        clip: Id of the clip.
        total: Part in the SIQ difference, in SIQ; without a scale, in the mean of the levels' raw differences, in
            percent; for a suite without a scale, in the mean of the categories' differences, each in standard
            deviations of its raw scores. All clips' parts sum to that difference. A part above 0 favors a.
        levels: Level -> its part in `total`.
    """

    clip: str
    total: float
    levels: dict[str, float]


class Undefined(NamedTuple):
    """The items of a level that are left out of a comparison because one of the systems has no score for them.

    Attributes:
        a: Number of items without a score of A.
        b: The same of B.
        items: Number of all items.
        compared: Number of items with a score of both.
    """

    a: int
    b: int
    items: int
    compared: int


class Comparison(NamedTuple):
    """The differences between two systems.

    Attributes:
        a: Name of system a.
        b: Name of system b.
        draws: Number of draws.
        left_out: Number of draws that could not be scored; they do not count.
        seed: Seed of draws and permutations.
        raw: Level -> difference of the mean raw scores, fractions that grow with ability.
        z: Level -> difference in Z_j; empty without a scale.
        siq: Difference in SIQ; None without a scale.
        asked: What must agree for a system to be better: levels, `siq`.
        clips: Every clip's part, largest first.
        no_siq: Why SIQ is missing and what to do; None if it is not.
        levels: Level -> how it is scored.
        undefined: Level -> what was left out, for levels on which items may have no score.
    """

    a: str
    b: str
    draws: int
    left_out: int
    seed: int
    raw: dict[str, Difference]
    z: dict[str, Difference]
    siq: Difference | None
    asked: tuple[str, ...]
    clips: list[Share]
    no_siq: str | None = None
    levels: Mapping[str, Category] = MappingProxyType({})
    undefined: Mapping[str, Undefined] = MappingProxyType({})

    def to_frame(self) -> pd.DataFrame:
        """Return the differences as a pandas frame, one row per score.

        Returns:
            Index `score`: each level (`remember`), its Z (`remember_z`) if there is a scale, and `siq`. Columns:
            `unit`; `a` and `b`, the scores of both systems; `difference`, a minus b, with the ends `low` and `high` of
            its 95 % interval; `p` of the permutation test; `favors`, the system that the interval favors, empty if
            it includes 0. If items may have no score (`measure.undefined: counted`), also `undefined_a` and
            `undefined_b`, the number of such items, and `items`, the number that both systems have a score for.
            `frame.attrs` has the names of `a` and `b`.

        Example:
            ```python
            speechiq.compare("whisper-base", "whisper-tiny.en", "runs").to_frame()
            ```
        """
        return difference_frame(self)

    def __repr__(self) -> str:
        return f"<Comparison of a={self.a!r} and b={self.b!r}, better: {self.better!r}>"

    def _repr_html_(self) -> str:
        return comparison_html(self)

    @property
    def caution(self) -> str | None:
        """Return the caution about intervals from few clips (`coverage.caution`)."""
        return caution(len(self.clips))

    @property
    def sides(self) -> dict[str, int]:
        """Return the side that each interval of `asked` favors (`Difference.side`)."""
        found = self.raw | ({SIQ: self.siq} if self.siq else {})
        return {name: found[name].side for name in self.asked}

    @property
    def better(self) -> str | None:
        """Return the system that all intervals of `asked` favor; None if they do not agree on one."""
        winner: dict[tuple[int, ...], str] = {(1,): self.a, (-1,): self.b}
        return winner.get(tuple({*self.sides.values()}))


def compare(
    pool: ScoreMatrix,
    a: str,
    b: str,
    *,
    scale: Scale | None = None,
    rule: str = DEFAULT_RULE,
    asked: Collection[str] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    raw_only: str | None = None,
) -> Comparison:
    """Compare two systems of a pool.

    Args:
        pool: The two systems, and further ones that set the scale.
        a: Name of system a.
        b: Name of system b.
        scale: A fixed scale on the pool's clips; None takes the pool's own if it has three systems or more. Without
            one of the levels of SIQ, only raw scores are compared.
        rule: Rule of the level weights, without `scale`.
        asked: Which intervals must agree: levels (by raw score), `siq`. None means all.
        draws: Number of bootstrap draws; 0 leaves out the intervals, and with them the verdict.
        seed: Seed of draws and permutations.
        raw_only: Why only raw scores are compared, for a suite without a scale.

    Raises:
        SpeechIQError: `asked` has a name that is not compared, or as for `draws.draw`.
    """
    no_siq = (
        raw_only
        or explain_missing(pool)
        or (f"no SIQ: {NO_SCALE}" if scale is None and len(pool.systems) < 3 else None)
    )
    scaled = no_siq is None
    asked = _check_asked(asked, (*pool.raw, *[SIQ] * scaled), no_siq)
    fixed = scale if scaled else flat(pool)
    scale = fixed or calibrate(pool, rule)
    scores = score(pool, scale)
    one, other = pool.systems.index(a), pool.systems.index(b)

    drawn = draw_gap(pool, one, other, fixed or flat(pool), draws, seed) if draws else None
    own_draws = draw_pair(pool, rule, draws, seed) if draws and not fixed else None
    clips = Clips.of(pool)
    gaps = {level: clips.spread(level, raw[one] - raw[other]) for level, raw in pool.raw.items()}
    of_raw = [gap / len(pool.clips[level]) for level, gap in gaps.items()]
    of_z = [gap * clips.spread(level, _per_z(scale.levels[level])) for level, gap in gaps.items()]
    units = [1 / _deviation(raw) if raw_only else POINTS if scaled else 100.0 for raw in pool.raw.values()]
    weights = [unit * level_scale.weight for unit, level_scale in zip(units, scale.levels.values(), strict=True)]
    shares = np.array([weight * part for weight, part in zip(weights, of_z, strict=True)])
    p = permute(np.array([*of_raw, *of_z, shares.sum(axis=0)]), seed)

    levels = scores.levels.values()
    values = [*(level_scores.raw for level_scores in levels), *(level_scores.z for level_scores in levels), scores.siq]
    ends = [(math.nan, math.nan)] * len(values)
    if drawn:
        ends = [_ends(interval) for interval in _intervals(drawn, own_draws, one, other)]
    found = [
        Difference(float(value[one]), float(value[other]), low, high, chance)
        for value, (low, high), chance in zip(values, ends, p.tolist(), strict=True)
    ]
    return Comparison(
        a=a,
        b=b,
        draws=draws,
        left_out=(own_draws or drawn).left_out if drawn else 0,
        seed=seed,
        raw=dict(zip(gaps, found, strict=False)),
        z=dict(zip(gaps, found[len(gaps) :], strict=False)) if scaled else {},
        siq=found[-1] if scaled else None,
        asked=asked,
        clips=_in_order(clips.names, shares, list(gaps)),
        no_siq=no_siq,
        levels=pool.levels,
    )


def _deviation(raw: np.ndarray) -> float:
    """Return the standard deviation of raw scores over systems and clips; 1 if all are equal."""
    return float(raw.std()) or 1.0


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as plain data; `difference` is a minus b. Unknown values are None.

    `scores` have the sign and the unit of their columns, which `measures` describes: an error rate falls with ability.
    """
    plain = comparison._asdict()
    del plain["levels"], plain["undefined"], plain["raw"]
    measures = {level: comparison.levels[level].measure for level in comparison.raw}
    names = {1: comparison.a, -1: comparison.b, 0: None}
    return plain | {
        "measures": {level: of.record for level, of in measures.items()},
        "scores": {level: _plain(of, names, measures[level].sign) for level, of in comparison.raw.items()},
        "z": {level: _plain(of, names) for level, of in comparison.z.items()},
        "caution": comparison.caution,
        "siq": comparison.siq and _plain(comparison.siq, names),
        "better": comparison.better,
        "clips": [share._asdict() for share in comparison.clips],
    }


def _plain(of: Difference, names: Mapping[int, str | None], sign: float = 1.0) -> dict[str, float | str | None]:
    """Return a difference with the sign of its column, and the name of the system that its interval favors."""
    low, high = sorted((sign * of.low, sign * of.high))
    numbers = {"difference": sign * of.value, "a": sign * of.a, "b": sign * of.b, "low": low, "high": high, "p": of.p}
    plain = {name: None if math.isnan(value) else value + 0.0 for name, value in numbers.items()}
    return {**plain, "favors": names[of.side]}


def _check_asked(asked: Collection[str] | None, known: tuple[str, ...], no_siq: str | None) -> tuple[str, ...]:
    asked = known if asked is None else tuple(dict.fromkeys(asked))
    if no_siq and SIQ in asked:
        raise SpeechIQError(f"siq cannot be compared here: {no_siq.removeprefix('no SIQ: ')}")
    if not asked or not {*asked} <= {*known}:
        near = "".join(did_you_mean(name, known) for name in asked if name not in known)
        raise SpeechIQError(f"levels {', '.join(asked)!r}: {near}name some of {', '.join(known)}")
    return asked


def draw_gap(pool: ScoreMatrix, one: int, other: int, scale: Scale, draws: int, seed: int) -> Draws:
    """Return the draws of one system's scores minus another's, clip by clip, without the rest of the pool."""
    gap = ScoreMatrix(("gap",), pool.clips, {level: raw[[one]] - raw[[other]] for level, raw in pool.raw.items()})
    scale = scale._replace(
        levels={level: level_scale._replace(mean=0.0) for level, level_scale in scale.levels.items()}
    )
    return draw(gap, scale=scale, draws=draws, seed=seed, tail_allowance=0)


def draw_pair(pool: ScoreMatrix, rule: str, draws: int, seed: int) -> Draws:
    """Return the draws of a pool on its own scale, for the difference between two of its systems.

    Heavy clips that are not in the set count less than in the interval of one system, so that equal systems differ in
    about 5 % of the sets.
    """
    return draw(pool, rule=rule, draws=draws, seed=seed, tail_allowance=TAIL_ALLOWANCE_OF_PAIR)


def _intervals(drawn: Draws, own_draws: Draws | None, one: int, other: int) -> list[Interval]:
    """Return the intervals of the raw differences, of Z, and of SIQ."""
    raw = [cloud.interval for cloud in drawn.raw_clouds.values()]
    if own_draws:
        clouds = (*own_draws.z_clouds.values(), own_draws.siq_cloud)
        return raw + [cloud.difference(one, other).interval for cloud in clouds]
    siq = drawn.siq_cloud.interval
    z = [cloud.interval for cloud in drawn.z_clouds.values()]
    return [*raw, *z, Interval(siq.low - MEAN, siq.high - MEAN)]


def _per_z(level_scale: LevelScale) -> np.ndarray:
    """Return how much a clip's raw score changes Z (eqs. 4 and 5), shape (clips,)."""
    return np.asarray(level_scale.discrimination / (level_scale.discrimination.sum() * level_scale.std))


def _ends(interval: Interval) -> tuple[float, float]:
    low, high = (float(np.round(end, DECIMALS)[0] + 0.0) for end in interval)
    return low, high


def _in_order(names: tuple[str, ...], shares: np.ndarray, levels: list[str]) -> list[Share]:
    total = shares.sum(axis=0)
    order = np.argsort(-np.abs(total), kind="stable")
    return [Share(names[i], float(total[i]), dict(zip(levels, shares[:, i].tolist(), strict=True))) for i in order]
