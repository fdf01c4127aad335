"""Bound Z and SIQ of systems on the scale that they set: other clips of this kind, the same systems.

The truth that an interval should contain is SIQ on all clips of this kind, with V, means, spreads and level weights
(eqs. 3 to 6) of those clips.

Eq. 4's weights are heavy tailed: the clips that decide a score are in few sets, and a set without them also seems to
vary little. So the bootstrap is studentized (a draw's distance is divided by the draw's own standard error), a draw
takes half of the clusters (halves miss clips of the set as the set misses clips of its kind), and the set's standard
error counts its heaviest cluster twice, for one like it that is not in the set.

Eq. 5 divides by the spread of X_j, which includes the noise of the clips. So the noise of draws is added to abilities
whose spread is free of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from speechiq.reducer.scores.scale import (
    CLIP_RULES,
    MEAN,
    NEGLIGIBLE,
    POINTS,
    Weighting,
    combine,
    correlate_levels,
    share_out,
)
from speechiq.reducer.stats.bootstrap import sum_clusters
from speechiq.reducer.stats.estimate import CONFIDENCE, Interval

#: A larger set draws groups of its clusters, so that the standard errors of all draws take seconds.
LARGEST = 500
#: Least part of the variance between systems that is not noise; least standard error of a draw relative to the set's.
LEAST_SIGNAL, LEAST_ERROR = 0.1, 0.1
PART_CELLS = 2**17

PerLevel = dict[str, np.ndarray]
#: Takes values of a level's clips and returns their sums over clusters.
Total = Callable[[np.ndarray], np.ndarray]
#: Rows of pairs of systems; none for all systems by themselves.
Pairs = Sequence[tuple[int, int]] | None


class Level(NamedTuple):
    """Hold a level in the set (row 0) and in all draws.

    Attributes:
        gaps: V times the raw scores minus their mean over systems, as sums over clusters: (systems, clusters).
        weights: V, as sums over clusters.
        ability: X_j minus its mean over systems, shape (1 + draws, systems).
        z: Z_j, with a spread that is free of noise in draws.
        divisor: The sum of V times the spread that eq. 5 divides by, shape (1 + draws, 1).
        spread: Standard deviation of all raw scores, which eq. 6 divides by, shape (1 + draws, 1).
        scored: Whether eq. 5 can be computed, shape (1 + draws,).
    """

    gaps: np.ndarray
    weights: np.ndarray
    ability: np.ndarray
    z: np.ndarray
    divisor: np.ndarray
    spread: np.ndarray
    scored: np.ndarray

    def parts(self, rows: slice) -> np.ndarray:
        """Return the part of each cluster in the error of Z_j, shape (rows, systems, clusters)."""
        z = self.z[rows, :, None]
        far = self.gaps - self.ability[rows, :, None] * self.weights
        far -= z * (z.swapaxes(1, 2) @ far / z.shape[1])
        return np.asarray(far / self.divisor[rows, :, None])


def bound(
    raw: Mapping[str, np.ndarray],
    totals: Mapping[str, Total],
    *,
    rule: Weighting,
    draws: int,
    seed: int,
    pairs: Pairs = None,
) -> tuple[dict[str, Interval], Interval]:
    """Return the intervals of Z of each level, and of SIQ.

    Args:
        raw: Level -> raw scores, shape (systems, clips).
        totals: Level -> its `Total`.
        rule: Rules of the weights.
        pairs: Bound the scores of one system minus those of another instead, by draws as large as the set.
    """
    generator = np.random.default_rng(seed)
    clusters = len(next(iter(totals.values()))(next(iter(raw.values()))[0]))
    groups = generator.permutation(clusters) % min(clusters, LARGEST)
    count = int(groups.max()) + 1
    size = count if pairs else math.ceil(count / 2)
    counts = np.vstack([np.ones(count), generator.multinomial(size, np.full(count, 1 / count), size=draws)])
    ratio = math.sqrt(size / count)
    with np.errstate(divide="ignore", invalid="ignore"):
        levels = {
            level: _draw_level(values, rule.clips, totals[level], groups, counts, ratio)
            for level, values in raw.items()
        }
        drawn_z = {level: drawn.z for level, drawn in levels.items()}
        spreads = {level: drawn.spread for level, drawn in levels.items()}
        shares = share_out(spreads, rule.levels, correlate_levels(drawn_z))
        scores = {level: _pick(drawn, pairs) for level, drawn in drawn_z.items()}
        siq = _pick(combine(drawn_z, shares), pairs)
        errors = _errors(levels, shares, counts, pairs)
    errors[:, 1:] *= ratio
    scored = np.logical_and.reduce([drawn.scored for drawn in levels.values()])
    span = math.sqrt(len(next(iter(raw.values()))) - 1) * (2 if pairs else 1)
    z = {
        level: _interval_of_level(values, error, scored, 0, span, pooled=not pairs)
        for (level, values), error in zip(scores.items(), errors, strict=False)
    }
    middle = 0 if pairs else MEAN
    return z, _interval_of_level(siq, errors[-1], scored, middle, POINTS * span, pooled=not pairs)


def _draw_level(
    raw: np.ndarray, rule: str, total: Total, groups: np.ndarray, counts: np.ndarray, ratio: float
) -> Level:
    """Return a level in draws whose noise is `ratio` times that of draws as often as `counts` says."""
    clip_weights = CLIP_RULES[rule](raw)
    cells = raw - raw.mean()
    gaps = sum_clusters(total((raw - raw.mean(axis=0)) * clip_weights), groups)
    weights, clips, first, second = (
        sum_clusters(total(values), groups)
        for values in (clip_weights, np.ones(raw.shape[1]), cells.mean(axis=0), (cells**2).mean(axis=0))
    )
    drawn_weights, drawn_clips = counts @ weights[:, None], counts @ clips
    ability = counts @ gaps.T / drawn_weights
    spread = np.sqrt(np.maximum(counts @ second / drawn_clips - (counts @ first / drawn_clips) ** 2, 0))[:, None]
    scored = np.ptp(ability, axis=1) > NEGLIGIBLE * np.abs(raw).max()
    noise = ratio * (ability - ability[0])
    signal = 1 - (noise[1:][scored[1:]] ** 2).mean() / ability[0].var()
    clean = math.sqrt(max(signal, LEAST_SIGNAL)) * ability[0] + noise
    clean[0] = ability[0]
    deviation = clean.std(axis=1, keepdims=True)
    spread[1:] = spread[0] * (spread[1:] / spread[0]) ** ratio
    return Level(gaps, weights, ability, clean / deviation, drawn_weights * deviation, spread, scored)


def _errors(levels: Mapping[str, Level], shares: PerLevel, counts: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Return the standard errors of Z of each level and of SIQ, shape (levels + 1, 1 + draws, numbers).

    Level weights count as known. In the set's own error (row 0) the heaviest cluster counts twice, except for pairs.
    """
    found = []
    step = max(1, PART_CELLS // next(iter(levels.values())).gaps.size)
    for start in range(0, len(counts), step):
        rows = slice(start, start + step)
        parts = [_pick(drawn.parts(rows), pairs) for drawn in levels.values()]
        siq = sum(POINTS * shares[level][rows, :, None] * part for level, part in zip(levels, parts, strict=True))
        squares = [np.square(part) for part in (*parts, siq)]
        variance = np.array([(part @ counts[rows, :, None])[..., 0] for part in squares])
        if start == 0 and not pairs:
            variance[:, 0] += [part[0].max(axis=-1) for part in squares]
        found.append(variance)
    squared: np.ndarray = np.concatenate(found, axis=1)
    return np.asarray(np.sqrt(squared))


def _pick(values: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Return values of all systems (axis 1), or for each pair those of one minus those of the other."""
    if not pairs:
        return values
    a, b = np.array(pairs).T
    return np.asarray(values[:, a] - values[:, b])


def _interval_of_level(
    scores: np.ndarray, errors: np.ndarray, scored: np.ndarray, middle: float, span: float, *, pooled: bool
) -> Interval:
    """Return the intervals of the scores in row 0, from those in draws.

    An interval is as wide as the draws of its system ask for, or if `pooled` as those of all systems do. A draw that
    cannot be scored counts as infinitely far.
    """
    least = np.maximum(errors[1:], LEAST_ERROR * errors[0])
    far = np.divide(np.abs(scores[1:] - scores[0]), least, out=np.zeros_like(least), where=least > 0)
    far[~scored[1:]] = np.inf
    reach = np.quantile(far, CONFIDENCE, axis=0, method="inverted_cdf")
    if pooled:
        reach = np.maximum(reach, np.quantile(far, CONFIDENCE, method="inverted_cdf"))
    half = np.where(errors[0] > 0, reach, 0) * errors[0]
    low, high = (np.clip(end, middle - span, middle + span) for end in (scores[0] - half, scores[0] + half))
    return Interval(np.minimum(low, scores[0]), np.maximum(high, scores[0]))
