"""Compute 95 % intervals of shares and other means between two limits, such as accuracy, a rate or a mean grade.

This is the interval of Wilson (1927) with an effective sample size: the number of independent answers whose share would
vary as much as the mean does between units. A unit is what a source gives independently of the rest, here a clip with
all its items. The interval never has zero width: units that all agree say nothing about their variance, so that they
count as one answer each.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from speechiq.reducer.stats.bootstrap import NO_CLUSTERS, number_clusters
from speechiq.reducer.stats.estimate import CONFIDENCE, UNDEFINED, Estimate, Interval

#: Variances below this are rounding.
ROUNDING = 1e-12


def wilson(sums: np.ndarray, sizes: np.ndarray, clips: int = 0) -> Interval:
    """Return the interval of a ratio of sums over units, between 0 and 1.

    The variance between units, as a share of what it is if every unit is all 0 or all 1, says how many independent
    answers a unit is worth. It is pooled with one answer that counts as much as a whole unit, since it is uncertain
    where few answers differ from the rest; and the more of it is estimated, the nearer is the quantile to Student's, of
    which the pooled answer adds one degree of freedom.

    Args:
        sums: Sum of the values of each unit, shape (..., units), from 0 to the unit's size.
        sizes: How much each unit counts, shape (units,), such as its number of items; not all 0.
        clips: Number of clips. If it is above that of units, these are clusters: the pooled answer counts as a clip and
            adds no degree of freedom, since the variance between few clusters is uncertain however many answers they
            have.

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
    rare, freedom = units * np.minimum(mean, 1 - mean), units
    if clips > len(sizes):
        rare, freedom = clips * np.minimum(mean, 1 - mean), max(units - 1, 1)
        ratio *= units / freedom
    ratio *= (rare + 1) / (rare + ratio)
    tail = (1 + CONFIDENCE) / 2
    normal, student = stdtrit(np.inf, tail) ** 2, stdtrit(freedom, tail) ** 2
    quantile = normal + np.maximum(1 - ratio, 0) * (student - normal)
    pull = quantile * ratio / units
    center = (mean + pull / 2) / (1 + pull)
    half = np.sqrt(pull * (mean * (1 - mean) + pull / 4)) / (1 + pull)
    return Interval(np.clip(center - half, 0, mean), np.clip(center + half, mean, 1))


def share(
    sums: Sequence[float] | np.ndarray,
    sizes: Sequence[float] | np.ndarray,
    clips: Sequence[Hashable],
    clusters: Mapping[Any, str] = NO_CLUSTERS,
) -> Estimate:
    """Return the share of some items among others with its interval; all items of a clip or cluster are one unit.

    Args:
        sums: What each item adds to the share, from 0 to its size.
        sizes: How much each item counts; 0 for one that does not.

    >>> [round(number, 3) for number in share([1, 1, *[0] * 15], [1] * 17, range(17))[:3]]
    [0.118, 0.033, 0.343]
    """
    if not np.sum(sizes):
        return UNDEFINED
    names = [str(clip) for clip in clips]
    unit, count = number_clusters(names, clusters), len(set(names))
    above, below = (np.bincount(unit, np.asarray(values, float)) for values in (sums, sizes))
    low, high = wilson(above, below, count)
    value = float(above.sum() / below.sum())
    return Estimate(value, float(low), float(high), len(unit), len(below), clips=count)
