"""Compute 95 % intervals of shares and other means between two limits, such as accuracy, a rate or a mean grade.

This is the interval of Wilson (1927) with an effective sample size: the number of independent answers whose share would
vary as much as the mean does between units. A unit is what a source gives independently of the rest, here a clip with
all its items. The interval never has zero width: units that all agree say nothing about their variance, so that they
count as one answer each.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.stats.estimate import UNDEFINED, Estimate
from speechiq.reducer.stats.interval import CONFIDENCE, Interval

#: Variances below this are rounding.
ROUNDING = 1e-12


def wilson(sums: np.ndarray, sizes: np.ndarray) -> Interval:
    """Return the interval of a ratio of sums over units, between 0 and 1.

    The variance between units, as a share of what it is if every unit is all 0 or all 1, says how many independent
    answers a unit is worth. It is pooled with one answer that counts as much as a whole unit, since it is uncertain
    where few answers differ from the rest; and the more of it is estimated, the nearer is the quantile to Student's, of
    which the pooled answer adds one degree of freedom.

    Args:
        sums: Sum of the values of each unit, shape (..., units), from 0 to the unit's size.
        sizes: How much each unit counts, shape (units,), such as its number of items; not all 0.

    >>> [end.round(3).tolist() for end in wilson(np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]), np.ones(5))]
    [[0.036, 0.0], [0.624, 0.434]]
    """
    from scipy.special import stdtrit

    units = sizes.sum() ** 2 / (sizes**2).sum()
    mean = sums.sum(axis=-1) / sizes.sum()
    largest = mean * (1 - mean) * (sizes**2).sum()
    spread = ((sums - mean[..., None] * sizes) ** 2).sum(axis=-1)
    varies = spread > ROUNDING * np.maximum(largest, ROUNDING)
    ratio = np.divide(spread, largest, out=np.ones_like(mean), where=varies)
    rare = units * np.minimum(mean, 1 - mean)
    ratio *= (rare + 1) / (rare + ratio)
    tail = (1 + CONFIDENCE) / 2
    normal, student = stdtrit(np.inf, tail) ** 2, stdtrit(units, tail) ** 2
    quantile = normal + np.maximum(1 - ratio, 0) * (student - normal)
    pull = quantile * ratio / units
    center = (mean + pull / 2) / (1 + pull)
    half = np.sqrt(pull * (mean * (1 - mean) + pull / 4)) / (1 + pull)
    return Interval(np.clip(center - half, 0, mean), np.clip(center + half, mean, 1))


def share(
    sums: Sequence[float] | np.ndarray, sizes: Sequence[float] | np.ndarray, clips: Sequence[Hashable]
) -> Estimate:
    """Return the share of some items among others with its interval; all items of a clip are one unit.

    Args:
        sums: What each item adds to the share, from 0 to its size.
        sizes: How much each item counts; 0 for one that does not.
        clips: The clip of each item.

    >>> [round(number, 3) for number in share([1, 1, *[0] * 15], [1] * 17, range(17))]
    [0.118, 0.033, 0.343]
    """
    if not np.sum(sizes):
        return UNDEFINED
    unit = np.unique(np.array([str(clip) for clip in clips]), return_inverse=True)[1]
    above, below = (np.bincount(unit, np.asarray(values, float)) for values in (sums, sizes))
    low, high = wilson(above, below)
    return Estimate(float(above.sum() / below.sum()), float(low), float(high))


def bound_means(pool: ScoreMatrix, level: str, drawn: Interval) -> Interval:
    """Return the intervals of the mean raw scores of a level, none of which has zero width.

    Scores between two limits have that of `wilson`. Other scores keep the interval from draws, unless all clips of a
    system agree, for which draws have zero width. Then a rate in percent counts as one between 0 and 1, and any other
    score has no interval (NaN). A control whose clips agree on such a level has that score by definition and keeps it.

    Args:
        pool: The systems; no score is NaN.
        level: Name of the level.
        drawn: The intervals from draws of clips.
    """
    raw = pool.raw[level]
    measure = pool.levels[level].measure if level in pool.levels else None
    if measure and measure.is_bounded:
        return _between(raw, *measure.raw_range)
    constant = (np.ptp(raw, axis=1) == 0) & [name not in pool.controls for name in pool.systems]
    if not constant.any():
        return drawn
    ends = [np.full(len(raw), np.nan)] * 2
    if measure and measure.in_per_cent:
        ends = list(_between(raw, *sorted((0.0, measure.sign))))
    return Interval(*(np.where(constant, *pair) for pair in zip(ends, drawn, strict=True)))


def _between(raw: np.ndarray, lowest: float, highest: float) -> Interval:
    """Return the intervals of means of scores between two limits, which a score outside moves."""
    least, largest = np.minimum(raw.min(axis=1), lowest), np.maximum(raw.max(axis=1), highest)
    span = largest - least
    found = wilson((raw - least[:, None]) / span[:, None], np.ones(raw.shape[1]))
    return Interval(*(least + end * span for end in found))
