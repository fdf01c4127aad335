"""Compare two systems on the same draws: how much they differ, whether that is chance, and which clips decide it.

All intervals come from the same draws (the coupled bootstrap of the LLMSemDist paper, section 2.2), made as in
`bootstrap`. Each difference has a permutation test: how often a difference at least as large results if the two systems
are swapped at random on each clip.

The scale is that of norms, or of a pool of three or more systems. Two systems alone always have Z = +1 and -1, so that
only their raw scores are compared.
"""

import math
from collections.abc import Collection, Sequence

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.scores.draws import DRAWS, Clips, Draws, draw
from speechiq.reducer.scores.remarks import explain_missing
from speechiq.reducer.scores.scale import DEFAULT_RULE, MEAN, POINTS, Scale, calibrate, flat, score
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.stats.contrast import permute
from speechiq.reducer.stats.estimate import DECIMALS, Difference, Interval
from speechiq.reducer.studies.comparison import SIQ, Comparison, Share

NO_SCALE = (
    "two systems alone always have Z +1 and -1, so that SIQ needs a scale; "
    "add --norms demo, --norms FILE, or further runs"
)


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
    """Compare the systems a and b of a pool.

    A fixed `scale` on the pool's clips scores them; None takes the pool's own scale if it has three systems or more,
    with level weights by `rule`. Without a level of SIQ, or for a suite without a scale (`raw_only` says why), only
    raw scores are compared. The intervals of `asked` must agree: levels (by raw score), `siq`; None means all.
    0 draws leave out the intervals, and with them the verdict.
    """
    no_siq = raw_only or explain_missing(pool)
    if no_siq is None and scale is None and len(pool.systems) < 3:
        no_siq = f"no SIQ: {NO_SCALE}"
    scaled = no_siq is None
    asked = _check_asked(asked, (*pool.raw, *[SIQ] * scaled), no_siq)
    fixed = scale if scaled else flat(pool)
    scale = fixed or calibrate(pool, rule)
    scores = score(pool, scale)
    row_a, row_b = pool.systems.index(a), pool.systems.index(b)

    drawn = draw_gap(pool, row_a, row_b, fixed or flat(pool), draws, seed) if draws else None
    own_draws = draw(pool, rule=rule, draws=draws, seed=seed, pair=(row_a, row_b)) if draws and not fixed else None
    clips = Clips.of(pool)
    gaps = {level: clips.spread(level, raw[row_a] - raw[row_b]) for level, raw in pool.raw.items()}
    of_raw = [gap / len(pool.clips[level]) for level, gap in gaps.items()]
    per_z = {
        level: each.discrimination / (each.discrimination.sum() * each.std) for level, each in scale.levels.items()
    }
    of_z = [gap * clips.spread(level, per_z[level]) for level, gap in gaps.items()]
    units = {level: 1 / spread_of(raw) if raw_only else POINTS if scaled else 100.0 for level, raw in pool.raw.items()}
    shares = np.array(
        [units[level] * scale.levels[level].weight * part for level, part in zip(gaps, of_z, strict=True)]
    )
    p = permute(np.array([*of_raw, *of_z, shares.sum(axis=0)]), seed, clips.clusters)

    levels = scores.levels.values()
    values = [*(level_scores.raw for level_scores in levels), *(level_scores.z for level_scores in levels), scores.siq]
    unknown = Interval(np.array([math.nan]), np.array([math.nan]))
    intervals = _intervals(drawn, own_draws) if drawn else [unknown] * len(values)
    differences = [
        Difference(float(value[row_a]), float(value[row_b]), *_ends(interval), chance)
        for value, interval, chance in zip(values, intervals, p.tolist(), strict=True)
    ]
    return Comparison(
        a=a,
        b=b,
        draws=draws,
        left_out=(own_draws or drawn).left_out if drawn else 0,
        seed=seed,
        raw=dict(zip(gaps, differences, strict=False)),
        z=dict(zip(gaps, differences[len(gaps) :], strict=False)) if scaled else {},
        siq=differences[-1] if scaled else None,
        asked=asked,
        clips=order_shares(clips.names, shares, list(gaps)),
        clusters=clips.cluster_count,
        no_siq=no_siq,
        levels=pool.levels,
    )


def spread_of(raw: np.ndarray) -> float:
    """Return the standard deviation of defined raw scores over systems and clips; 1 if all are equal."""
    return float(np.nanstd(raw)) or 1.0


def _check_asked(asked: Collection[str] | None, known: tuple[str, ...], no_siq: str | None) -> tuple[str, ...]:
    asked = known if asked is None else tuple(dict.fromkeys(asked))
    if no_siq and SIQ in asked:
        raise SpeechIQError("siq cannot be compared here", no_siq.removeprefix("no SIQ: "))
    if not asked or not {*asked} <= {*known}:
        near = "".join(did_you_mean(name, known) for name in asked if name not in known)
        raise SpeechIQError(f"levels {', '.join(asked)!r}", f"{near}name some of {', '.join(known)}")
    return asked


def draw_gap(pool: ScoreMatrix, a: int, b: int, scale: Scale, draws: int, seed: int) -> Draws:
    """Return the draws of one system's scores minus another's, clip by clip, without the rest of the pool."""
    gap = pool._replace(systems=("gap",), raw={level: raw[[a]] - raw[[b]] for level, raw in pool.raw.items()})
    levels = {level: level_scale._replace(mean=0.0) for level, level_scale in scale.levels.items()}
    return draw(gap, scale=scale._replace(levels=levels), draws=draws, seed=seed, tail_allowance=0)


def _intervals(drawn: Draws, own_draws: Draws | None) -> list[Interval]:
    """Return the intervals of the raw differences, of Z, and of SIQ."""
    raw = [cloud.interval for cloud in drawn.raw_clouds.values()]
    if own_draws:
        return [*raw, *own_draws.z_intervals.values(), own_draws.siq_interval]
    low, high = drawn.siq_interval
    return [*raw, *drawn.z_intervals.values(), Interval(low - MEAN, high - MEAN)]


def _ends(interval: Interval) -> tuple[float, float]:
    low, high = (float(np.round(end, DECIMALS)[0] + 0.0) for end in interval)
    return low, high


def order_shares(clips: Sequence[str], shares: np.ndarray, levels: Sequence[str]) -> list[Share]:
    """Return the parts of clips, shape (levels, clips), as one record per clip, largest first."""
    total = shares.sum(axis=0)
    order = np.argsort(-np.abs(total), kind="stable")
    return [Share(clips[i], float(total[i]), dict(zip(levels, shares[:, i].tolist(), strict=True))) for i in order]
