"""Give statistics their 95 % intervals: by draws of clusters, or for shares of a total by the formula of Wilson.

A statistic is a function from how often each item counts, shape (draws, items), to its values, shape (draws,) or
(draws, numbers). All its numbers share each draw. A draw takes clusters with replacement, each with all its items.

A cluster is what a sample has drawn: a call, a speaker or a passage, or else a single clip.

A draw on which a number is not defined does not count for it. The number has no interval if it is not defined itself,
if there is only one cluster, or if it is defined on fewer than half of the draws.

The percentiles of draws of few clusters are too narrow. So those of clusters of several clips are as far out as the
quantiles of Student's t with a degree of freedom less than clusters (Hesterberg, The American Statistician, 2015).

Means between two limits, such as accuracy, a rate or a mean grade, have the interval of Wilson (1927) with an effective
sample size: the number of independent answers whose share would vary as much as the mean does between units. A unit is
what a source gives independently of the rest, here a clip or cluster with all its items. The interval never has zero
width: units that all agree say nothing about their variance, so that they count as one answer each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.stats.estimate import CONFIDENCE, ENOUGH, UNDEFINED, Difference, Estimate, Interval

#: Clip -> its cluster, for clips of which none is in one.
NO_CLUSTERS: Mapping[Any, str] = MappingProxyType({})
FEWEST_DRAWS = 40
#: Cells of the largest array of counts, of clusters and of a statistic's items.
CHUNK_CELLS, PART_CELLS = 2**22, 2**18

Statistic = Callable[[np.ndarray], np.ndarray]
#: Variances below this are rounding.
NO_SPREAD = 1e-12


def number_clusters(clips: Sequence[Hashable], clusters: Mapping[Any, str] = NO_CLUSTERS) -> np.ndarray:
    """Return the number of the cluster of each item, from 0.

    Args:
        clips: The clip of each item.
        clusters: Clip -> its cluster; a clip without one is a cluster of its own.

    Clusters are in the order of their first clips, so that clusters of one clip have the numbers of their clips.

    >>> number_clusters(["c", "b", "a", "c"], {"a": "call", "c": "call"}).tolist()
    [0, 1, 0, 0]
    """
    names, place = np.unique(np.asarray(clips), return_inverse=True)
    if not clusters:
        return np.asarray(place)
    numbers: dict[Hashable, int] = {}
    places = [numbers.setdefault(clusters.get(clip, (clip,)), len(numbers)) for clip in names.tolist()]
    return np.array(places)[place]


def sum_clusters(values: np.ndarray, clusters: np.ndarray, count: int | None = None) -> np.ndarray:
    """Return the sums over clusters, shape (..., clusters), of values of shape (..., items).

    Args:
        values: The values; those of items that share no cluster are returned to the last bit.
        count: Number of clusters, also those without an item; None means that the last has an item.

    >>> sum_clusters(np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1])).tolist()
    [2.0, 5.0]
    """
    order = np.argsort(clusters, kind="stable")
    starts = np.flatnonzero(np.diff(clusters[order], prepend=-1))
    sums = np.zeros((*values.shape[:-1], int(clusters.max()) + 1 if count is None else count))
    sums[..., clusters[order][starts]] = np.add.reduceat(values[..., order], starts, axis=-1)
    return sums


class Resampled(NamedTuple):
    """Hold a statistic with its values in all draws.

    Attributes:
        values: The statistic in row 0, then its value in each draw, shape (1 + draws, ...).
        clips: Number of clips, which is that of clusters if no two clips share one.
        enough: Number of clips from which on the intervals are not too narrow.
    """

    values: np.ndarray
    n: int
    clusters: int
    clips: int
    enough: int = ENOUGH

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> Resampled:
        """Return a function of the statistic, which is computed in the same draws."""
        return self._replace(values=function(self.values))

    @property
    def estimates(self) -> list[Estimate]:
        """Return each number of the statistic with its interval, by the percentiles of the draws."""
        return [self._estimate(column) for column in self.values.reshape(len(self.values), -1).T]

    @property
    def estimate(self) -> Estimate:
        """Return the only number of the statistic with its interval."""
        (estimate,) = self.estimates
        return estimate

    def difference(self, a: int, b: int) -> Difference:
        """Return number a of the statistic minus number b; p is how often draws are on the rarer side of 0, twice."""
        gap = self.values[:, a] - self.values[:, b]
        estimate, drawn = self._estimate(gap), gap[1:][~np.isnan(gap[1:])]
        rarer = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
        p = min(1.0, 2 * (rarer + 1) / (len(drawn) + 1)) if len(drawn) and self.clusters > 1 else math.nan
        if 1 < self.clusters < self.clips:
            from scipy.special import ndtri, stdtr

            p = 2 * float(stdtr(self.clusters - 1, ndtri(p / 2) / self._stretch))
        scores = float(self.values[0, a]), float(self.values[0, b])
        return Difference(*scores, *estimate.ends, p, self.clusters, self.clips, self.enough)

    @property
    def _stretch(self) -> float:
        """Return how much less draws of clusters vary than samples of clusters do, as a factor that undoes it."""
        return math.sqrt(self.clusters / (self.clusters - 1))

    def _estimate(self, values: np.ndarray) -> Estimate:
        value, drawn = float(values[0]), values[1:][~np.isnan(values[1:])]
        low = high = math.nan
        if not math.isnan(value) and self.clusters > 1 and len(drawn) and 2 * len(drawn) >= len(values) - 1:
            tails = [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)]
            if self.clusters < self.clips:
                from scipy.special import ndtr, stdtrit

                quantile = float(stdtrit(self.clusters - 1, (1 + CONFIDENCE) / 2)) * self._stretch
                tails = [100 * float(ndtr(end)) for end in (-quantile, quantile)]
            low, high = np.percentile(drawn, tails).tolist()
        ends = min(low, value), max(high, value)
        return Estimate(value, *ends, self.n, self.clusters, len(drawn), self.clips, self.enough)


def resample(
    statistic: Statistic,
    clips: Sequence[Hashable],
    clusters: Mapping[Any, str] = NO_CLUSTERS,
    *,
    draws: int,
    seed: int = 0,
    enough: int = ENOUGH,
) -> Resampled:
    """Compute a statistic on all items and in draws of clusters.

    Args:
        clips: The clip of each item, at least one.
        clusters: Clip -> its cluster, for clips that share one; a draw takes whole clusters.
        draws: Number of draws; 0 leaves the interval out.
        enough: Number of clips from which on the intervals are not too narrow; 0 for items that are no clips.

    >>> resample(lambda counts: counts @ [0, 1] / counts.sum(axis=1), ["a", "b"], draws=100).estimate[:3]
    (0.5, 0.0, 1.0)
    """
    place = number_clusters(clips, clusters)
    count = int(place.max()) + 1
    parts = [statistic(np.ones((1, len(place))))]
    if draws:
        check_draws(draws)
        for counts in count_clusters(count, draws, seed):
            sections = min(len(counts), math.ceil(len(counts) * len(place) / PART_CELLS))
            parts += [statistic(part[:, place]) for part in np.array_split(counts, sections)]
    return Resampled(np.concatenate(parts), len(place), count, len(set(clips)) if clusters else count, enough)


def ratio_of_sums(above: np.ndarray, below: np.ndarray) -> Statistic:
    """Return the statistic that divides sums over items by other sums over the same items, for each row of both.

    It is NaN in a draw without anything to divide by.

    >>> ratio_of_sums(np.array([[1.0, 2.0]]), np.array([[1.0, 3.0]]))(np.array([[1.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.75], [nan]]
    """

    def divide(counts: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((counts @ above.T) / (counts @ below.T))

    return divide


def mean_of_defined(values: np.ndarray, weights: np.ndarray | float = 1.0) -> Statistic:
    """Return the statistic of the mean of each row of values, shape (rows, items), over its items that are not NaN."""
    defined = ~np.isnan(values)
    return ratio_of_sums(np.where(defined, values, 0.0) * weights, defined * weights)


def count_clusters(clusters: int, draws: int, seed: int) -> Iterable[np.ndarray]:
    """Count the clusters in each draw, in parts of shape (some draws, clusters); the counts do not depend on the parts.

    If they are few they are kept, since many systems are drawn alike, and cannot be written to.
    """
    few = clusters * draws <= CHUNK_CELLS
    return _keep_counts(clusters, draws, seed) if few else _draw_counts(clusters, draws, seed)


@lru_cache(maxsize=2)
def _keep_counts(clusters: int, draws: int, seed: int) -> tuple[np.ndarray, ...]:
    return tuple(_draw_counts(clusters, draws, seed))


def _draw_counts(clusters: int, draws: int, seed: int) -> Iterator[np.ndarray]:
    generator = np.random.default_rng(seed)
    size = max(1, CHUNK_CELLS // clusters)
    even = np.full(clusters, 1 / clusters)
    for start in range(0, draws, size):
        counts = generator.multinomial(clusters, even, size=min(size, draws - start)).astype(float)
        counts.setflags(write=False)
        yield counts


def check_draws(draws: int) -> None:
    """Raise a `SpeechIQError` if there are too few draws for an interval."""
    if draws < FEWEST_DRAWS:
        raise SpeechIQError(
            f"{draws} draws are too few for a 95 % interval",
            f"give at least {FEWEST_DRAWS}, or 0 to leave intervals out",
        )


def describe_samples(draws: int, seed: int, units: str = "clips") -> str:
    """Return the line below a table that says where its intervals come from.

    >>> describe_samples(1000, 0)
    '95 % intervals from 1000 bootstrap samples of clips, seed 0'
    """
    return f"95 % intervals from {draws} bootstrap samples of {units}, seed {seed}"


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
    varies = spread > NO_SPREAD * np.maximum(largest, NO_SPREAD)
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


def estimate_share(
    sums: Sequence[float] | np.ndarray,
    sizes: Sequence[float] | np.ndarray,
    clips: Sequence[Hashable],
    clusters: Mapping[Any, str] = NO_CLUSTERS,
) -> Estimate:
    """Return the share of some items among others with its interval; all items of a clip or cluster are one unit.

    Args:
        sums: What each item adds to the share, from 0 to its size.
        sizes: How much each item counts; 0 for one that does not.

    >>> [round(number, 3) for number in estimate_share([1, 1, *[0] * 15], [1] * 17, range(17))[:3]]
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
