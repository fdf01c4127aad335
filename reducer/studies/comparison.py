"""Compare two systems on the same draws: how much they differ, whether that is chance, and which clips decide it.

One system is better only if every interval that must agree favors it. All intervals come from the same draws (the
coupled bootstrap of the LLMSemDist paper, section 2.2), made as in `scores/bootstrap.py`. Each difference has a
permutation test: how often a difference at least as large results if the two systems are swapped at random on each
clip.

The scale is that of norms, or of a pool of three or more systems. Two systems alone always have Z = +1 and -1, so that
only their raw scores are compared.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.metrics.measure import Category
from speechiq.reducer.scores.draws import DRAWS, Clips, Draws, draw
from speechiq.reducer.scores.remarks import explain_missing, title
from speechiq.reducer.scores.scale import MEAN, PAPER, POINTS, Scale, Weighting, calibrate, flat, score
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.stats.contrast import permute
from speechiq.reducer.stats.estimate import CONFIDENCE, DECIMALS, ENOUGH, ENOUGH_FOR_SIQ, Difference, Interval
from speechiq.reducer.stats.grid import count_units, find_caution

if TYPE_CHECKING:
    import pandas as pd

SIQ = "siq"
#: Clips (or clusters of clips) without which no difference is beyond chance: the smallest p of n of them is 2 / 2**n.
FEWEST_FOR_VERDICT = 6
NO_SCALE = (
    "two systems alone always have Z +1 and -1, so that SIQ needs a scale; "
    "add --norms demo, --norms FILE, or further runs"
)


class ClipShare(NamedTuple):
    """Hold a clip's part in the difference.

    Attributes:
        total: Part in the SIQ difference, in SIQ; without a scale, in the mean of the levels' raw differences, in
            percent; for a suite without a scale, in the mean of the categories' differences, each in standard
            deviations of its raw scores. All clips' parts sum to that difference. Above 0, a is better.
        levels: Level -> its part in `total`.
    """

    clip: str
    total: float
    levels: dict[str, float]

    def swap(self) -> ClipShare:
        """Return the part in the difference of B minus A."""
        return ClipShare(self.clip, -self.total, {level: -part for level, part in self.levels.items()})


class UndefinedItems(NamedTuple):
    """Hold numbers of items of a level: without a score of A, of B, all, and those `compared`, with a score of both."""

    a: int
    b: int
    items: int
    compared: int


class ComparisonRow(NamedTuple):
    """Hold one score of both systems, in the unit that people read.

    Attributes:
        key: Name of a level, of a level with `_z`, or `siq`.
        label: The same for people, without `_z`.
        unit: Unit of the numbers, or `Z`; empty for SIQ.
        side: The system that the interval speaks for (`Difference.side` of scores that grow with ability).
    """

    key: str
    label: str
    unit: str
    difference: Difference
    side: int


class Comparison(NamedTuple):
    """Hold the differences between systems a and b.

    Attributes:
        left_out: Number of draws that could not be scored; they do not count.
        raw: Level -> difference of the mean raw scores, fractions that grow with ability.
        z: Level -> difference in Z_j; empty without a scale.
        siq: Difference in SIQ; None without a scale.
        required: What must agree for a system to be better: levels, `siq`.
        clips: Every clip's part, largest first.
        clusters: Number of clusters of these clips, which is that of clips if no two share one.
        no_siq: Why SIQ is missing and what to do; None if it is not.
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
    required: tuple[str, ...]
    clips: list[ClipShare]
    clusters: int
    no_siq: str | None = None
    levels: Mapping[str, Category] = MappingProxyType({})
    undefined: Mapping[str, UndefinedItems] = MappingProxyType({})

    def to_frame(self) -> pd.DataFrame:
        """Return the differences as a pandas frame, one row per score.

        Returns:
            Index `score`: each level (`remember`), its Z (`remember_z`) if there is a scale, and `siq`. Columns:
            `unit`; `a` and `b`, the scores of both systems; `difference`, a minus b, with the ends `low` and `high` of
            its 95 % interval; `p` of the permutation test; `better`, the system that the interval speaks for, empty if
            it includes 0. If items may have no score (`measure.undefined: counted`), also `undefined_a` and
            `undefined_b`, the number of such items, and `items`, the number that both systems have a score for.
            `frame.attrs` has the names of `a` and `b`.

        Example:
            ```python
            speechiq.compare("whisper-base", "whisper-tiny.en", "runs").to_frame()
            ```
        """
        import pandas as pd

        rows = {}
        for row in self.rows:
            scores = {"unit": row.unit or row.label, "a": row.difference.a, "b": row.difference.b}
            rows[row.key] = scores | row.difference.record | {"better": self.name_of(row.side) or ""}
        for level, counts in self.undefined.items():
            rows[level] |= {"undefined_a": counts.a, "undefined_b": counts.b, "items": counts.compared}
        frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="score")
        frame.attrs |= {"a": self.a, "b": self.b}
        return frame

    def __repr__(self) -> str:
        return f"<Comparison of a={self.a!r} and b={self.b!r}, better: {self.better!r}>"

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(na_rep=""))

    @property
    def caution(self) -> str | None:
        """Return the caution about intervals from few clips or clusters; None for enough, or without intervals."""
        differences = [*self.raw.values(), *self.z.values(), *filter(None, [self.siq])]
        return find_caution(difference.estimate for difference in differences)

    @property
    def units(self) -> str:
        """Return the number of clips and clusters that a draw takes, in words."""
        return count_units(len(self.clips), self.clusters)

    @property
    def sides(self) -> dict[str, int]:
        """Return the side that each interval of `required` speaks for (`Difference.side`)."""
        differences = self.raw | ({SIQ: self.siq} if self.siq else {})
        return {name: differences[name].side for name in self.required}

    @property
    def better(self) -> str | None:
        """Return the system that all intervals of `required` favor; None if they do not agree, or with few clips."""
        sides = {*self.sides.values()}
        agreed = len(sides) == 1 and self.clusters >= FEWEST_FOR_VERDICT
        return self.name_of(sides.pop()) if agreed else None

    def name_of(self, side: int) -> str | None:
        """Return the system on a side (`Difference.side`); None for 0."""
        return {1: self.a, -1: self.b}.get(side)

    @property
    def conflicts(self) -> list[ComparisonRow]:
        """Return the rows in which the p value and the interval do not agree on whether the difference is chance."""
        tested = [row for row in self.rows if not math.isnan(row.difference.p + row.difference.low)]
        return [row for row in tested if (row.difference.p < 1 - CONFIDENCE) != bool(row.side)]

    @property
    def rows(self) -> list[ComparisonRow]:
        """Return a row per level, then its Z, and SIQ last."""
        rows = []
        for level, difference in self.raw.items():
            category, label = self.levels[level], title(level)
            shown = difference.map(float(category.show(1.0)))
            rows.append(ComparisonRow(level, label, category.unit, shown, difference.side))
            if level in self.z:
                rows.append(ComparisonRow(f"{level}_z", label, "Z", self.z[level], self.z[level].side))
        if self.siq:
            rows.append(ComparisonRow(SIQ, "SIQ", "", self.siq, self.siq.side))
        return rows

    def swap(self) -> Comparison:
        """Return the comparison of B with A."""
        raw = {level: gap.swap() for level, gap in self.raw.items()}
        z = {level: gap.swap() for level, gap in self.z.items()}
        clips = [share.swap() for share in self.clips]
        return self._replace(a=self.b, b=self.a, raw=raw, z=z, siq=self.siq and self.siq.swap(), clips=clips)


def comparison_content(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison for the JSON file; `difference` is a minus b.

    `scores` have the sign and the unit of their columns, which `measures` describes: an error rate falls with ability.
    """
    measures = {level: comparison.levels[level].measure for level in comparison.raw}

    def record(difference: Difference, sign: float = 1.0) -> dict[str, Any]:
        return difference.map(sign).record | {"better": comparison.name_of(difference.side)}

    conflicts = [row.key for row in comparison.conflicts]
    fields = {name: value for name, value in comparison._asdict().items() if name not in ("levels", "raw")}
    return fields | {
        "measures": {level: measure.record for level, measure in measures.items()},
        "scores": {level: record(gap, measures[level].sign) for level, gap in comparison.raw.items()},
        "z": {level: record(gap) for level, gap in comparison.z.items()},
        "conflicts": conflicts,
        "caution": comparison.caution,
        "siq": comparison.siq and record(comparison.siq),
        "better": comparison.better,
    }


def compare_scores(pool: ScoreMatrix, a: str, b: str, **options: Any) -> Comparison:
    """Compare the systems a and b of a pool; options as for `compare_all`."""
    (comparison,) = compare_all(pool, [(a, b)], **options)
    return comparison


def compare_all(
    pool: ScoreMatrix,
    pairs: Sequence[tuple[str, str]],
    *,
    scale: Scale | None = None,
    rule: Weighting = PAPER,
    required: Collection[str] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    raw_only: str | None = None,
) -> list[Comparison]:
    """Compare pairs of systems of a pool; all pairs share the draws and the permutations.

    A fixed `scale` on the pool's clips scores them; None takes the pool's own scale if it has three systems or more,
    with weights by `rule`. Without a level of SIQ, or for a suite without a scale (`raw_only` says why), only
    raw scores are compared. The intervals of `required` must agree: levels (by raw score), `siq`; None means all.
    0 draws leave out the intervals, and with them the verdict.
    """
    no_siq = raw_only or explain_missing(pool)
    if no_siq is None and scale is None and len(pool.systems) < 3:
        no_siq = f"no SIQ: {NO_SCALE}"
    scaled = no_siq is None
    known = (*pool.raw, SIQ) if scaled else (*pool.raw,)
    required = _check_required(required, known, no_siq)
    fixed = scale if scaled else flat(pool)
    scale = fixed or calibrate(pool, rule)
    scores = score(pool, scale)
    rows = [(pool.systems.index(a), pool.systems.index(b)) for a, b in pairs]

    drawn = draw_gaps(pool, rows, fixed or flat(pool), draws, seed) if draws else None
    own_draws = draw(pool, rule=rule, draws=draws, seed=seed, pairs=rows) if draws and not fixed else None
    clips = Clips.from_matrix(pool)
    units = dict.fromkeys(pool.raw, float(POINTS) if scaled else 100.0)
    if raw_only:
        units = {level: 1 / spread_of(raw) for level, raw in pool.raw.items()}
    gaps = {level: clips.spread(level, gap) for level, gap in _gaps(pool, rows).items()}
    of_raw = [gap / len(pool.clips[level]) for level, gap in gaps.items()]
    of_z, shares = _share_gaps(gaps, scale, units, clips)
    parts = np.array([*of_raw, *of_z, shares.sum(axis=0)])
    p = permute(parts.reshape(-1, len(clips.names)), seed, clips.clusters).reshape(parts.shape[:2])

    levels = scores.levels.values()
    values = [*(level_scores.raw for level_scores in levels), *(level_scores.z for level_scores in levels), scores.siq]
    unknown = Interval(*np.full((2, len(rows)), math.nan))
    intervals = _list_intervals(drawn, own_draws) if drawn else [unknown] * len(values)
    samples = [(pool.count_clusters(level), len(clips), ENOUGH) for level, clips in pool.clips.items()]
    fewest, clusters = pool.smallest
    samples = [*samples, *samples, (clusters, fewest, ENOUGH_FOR_SIQ)]
    comparisons = []
    for place, ((a, b), (row_a, row_b)) in enumerate(zip(pairs, rows, strict=True)):
        differences = [
            Difference(
                float(value[row_a]), float(value[row_b]), *_round_ends(interval, place), float(chances[place]), *sample
            )
            for value, interval, chances, sample in zip(values, intervals, p, samples, strict=True)
        ]
        comparison = Comparison(
            a=a,
            b=b,
            draws=draws,
            left_out=(own_draws or drawn).left_out if drawn else 0,
            seed=seed,
            raw=dict(zip(gaps, differences, strict=False)),
            z=dict(zip(gaps, differences[len(gaps) :], strict=False)) if scaled else {},
            siq=differences[-1] if scaled else None,
            required=required,
            clips=order_shares(clips.names, shares[:, place], list(gaps)),
            clusters=clips.cluster_count,
            no_siq=no_siq,
            levels=pool.levels,
        )
        comparisons.append(comparison)
    return comparisons


def spread_of(raw: np.ndarray) -> float:
    """Return the standard deviation of defined raw scores over systems and clips; 1 if all are equal."""
    return float(np.nanstd(raw)) or 1.0


def _check_required(required: Collection[str] | None, known: tuple[str, ...], no_siq: str | None) -> tuple[str, ...]:
    required = known if required is None else tuple(dict.fromkeys(required))
    if no_siq and SIQ in required:
        raise SpeechIQError("siq cannot be compared here", no_siq.removeprefix("no SIQ: "))
    if not required or not {*required} <= {*known}:
        near = "".join(did_you_mean(name, known) for name in required if name not in known)
        raise SpeechIQError(f"levels {', '.join(required)!r}", f"{near}name some of {', '.join(known)}")
    return required


def draw_gaps(pool: ScoreMatrix, rows: Sequence[tuple[int, int]], scale: Scale, draws: int, seed: int) -> Draws:
    """Return the draws of one system's scores minus another's for each pair, clip by clip, as if a pair were a system.

    Args:
        rows: The rows of each pair in the pool.
        scale: On the pool's clips; other systems of the pool do not count.
    """
    gaps = pool._replace(systems=tuple(map(str, rows)), raw=_gaps(pool, rows))
    levels = {level: level_scale._replace(mean=0.0) for level, level_scale in scale.levels.items()}
    return draw(gaps, scale=scale._replace(levels=levels), draws=draws, seed=seed, tail_allowance=0)


def _gaps(pool: ScoreMatrix, rows: Sequence[tuple[int, int]]) -> dict[str, np.ndarray]:
    """Return level -> the raw scores of the first system of each pair minus those of the second, by clip."""
    a, b = np.array(rows).T
    return {level: raw[a] - raw[b] for level, raw in pool.raw.items()}


def _share_gaps(
    gaps: Mapping[str, np.ndarray], scale: Scale, units: Mapping[str, float], clips: Clips
) -> tuple[np.ndarray, np.ndarray]:
    """Return the part of each clip in the differences in Z and in SIQ, each of shape (levels, pairs, clips)."""
    of_z, shares = [], []
    for level, each in scale.levels.items():
        per_z = each.discrimination / (each.discrimination.sum() * each.std)
        of_z.append(gaps[level] * clips.spread(level, per_z))
        shares.append(units[level] * each.weight * of_z[-1])
    return np.array(of_z), np.array(shares)


def _list_intervals(drawn: Draws, own_draws: Draws | None) -> list[Interval]:
    """Return the intervals of the raw differences, of Z, and of SIQ, with ends of shape (pairs,)."""
    raw = [of_level.interval for of_level in drawn.raw_draws.values()]
    if own_draws:
        return [*raw, *own_draws.z_intervals.values(), own_draws.siq_interval]
    low, high = drawn.siq_interval
    return [*raw, *drawn.z_intervals.values(), Interval(low - MEAN, high - MEAN)]


def _round_ends(interval: Interval, place: int) -> tuple[float, float]:
    low, high = (float(np.round(end[place], DECIMALS) + 0.0) for end in interval)
    return low, high


def order_shares(clips: Sequence[str], shares: np.ndarray, levels: Sequence[str]) -> list[ClipShare]:
    """Return the parts of clips, shape (levels, clips), as one record per clip, largest first."""
    total = shares.sum(axis=0)
    order = np.argsort(-np.abs(total), kind="stable")
    return [ClipShare(clips[i], float(total[i]), dict(zip(levels, shares[:, i].tolist(), strict=True))) for i in order]
