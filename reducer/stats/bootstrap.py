"""Draw clusters with replacement, or clips with all their items, and give statistics their 95 % intervals.

A statistic is a function from how often each item counts, shape (draws, items), to its values, shape (draws,) or
(draws, numbers). All its numbers share each draw.

A cluster is what a sample has drawn: a call, a speaker or a passage, or else a single clip.

A draw on which a number is not defined does not count for it. The number has no interval if it is not defined itself,
if there is only one cluster, or if it is defined on fewer than half of the draws.

The percentiles of draws of few clusters are too narrow. So those of clusters of several clips are as far out as the
quantiles of Student's t with a degree of freedom less than clusters (Hesterberg, The American Statistician, 2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.stats.estimate import CONFIDENCE, Difference, Estimate

#: Clip -> its cluster, for clips of which none is in one.
NO_CLUSTERS: Mapping[Any, str] = MappingProxyType({})
FEWEST_DRAWS = 40
#: Cells of the largest array of counts, of clusters and of a statistic's items.
CHUNK_CELLS, PART_CELLS = 2**22, 2**18

Statistic = Callable[[np.ndarray], np.ndarray]


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
    """

    values: np.ndarray
    n: int
    clusters: int
    clips: int

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
        return Difference(float(self.values[0, a]), float(self.values[0, b]), estimate.low, estimate.high, p)

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
        return Estimate(value, min(low, value), max(high, value), self.n, self.clusters, len(drawn), self.clips)


def resample(
    statistic: Statistic,
    clips: Sequence[Hashable],
    clusters: Mapping[Any, str] = NO_CLUSTERS,
    *,
    draws: int,
    seed: int = 0,
) -> Resampled:
    """Compute a statistic on all items and in draws of clusters.

    Args:
        clips: The clip of each item, at least one.
        clusters: Clip -> its cluster, for clips that share one; a draw takes whole clusters.
        draws: Number of draws; 0 leaves the interval out.


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
    return Resampled(np.concatenate(parts), len(place), count, len(set(clips)) if clusters else count)


def count_clusters(clusters: int, draws: int, seed: int) -> Iterator[np.ndarray]:
    """Yield how often each draw has each cluster, shape (some draws, clusters); chunks do not change the counts."""
    generator = np.random.default_rng(seed)
    size = max(1, CHUNK_CELLS // clusters)
    even = np.full(clusters, 1 / clusters)
    for start in range(0, draws, size):
        yield generator.multinomial(clusters, even, size=min(size, draws - start)).astype(float)


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
