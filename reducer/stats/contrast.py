"""Compare the means of runs over the same items, and of groups over different ones.

Paired differences are permuted (on each cluster, chance decides which of two runs is which), or tested by Student's
intervals.

Groups have different clips, so that nothing is paired. Their test permutes the groups of whole clusters, such as
speakers, and takes the largest statistic over all pairs of each permutation: p values and intervals hold for all pairs
together, as with Holm's correction, but with the correlation of the pairs. The statistic is a difference by its
standard error over clusters. The variance of a group has some of the pooled one, without which few clusters that agree
by chance would have none. Permuted scores are taken as they are, which is exact if no group differs, and around the
mean of their group, which holds if some do; the larger critical value and the larger p count. A cluster with clips of
several groups counts as one in each of them; what they share makes the test more careful.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from speechiq.reducer.stats.bootstrap import (
    NO_CLUSTERS,
    Resampled,
    mean_of_defined,
    number_clusters,
    resample,
    sum_clusters,
)
from speechiq.reducer.stats.estimate import CONFIDENCE, DECIMALS, ROUNDING, Difference

#: All sign patterns are tried up to so many clusters; above, so many random ones.
EXACT, FLIPS = 14, 9999
PATTERN_CELLS = 2**20
#: Clusters that the pooled variance counts as, beside those of a group.
PRIOR = 2.0
FEWEST_CLUSTERS = 2
PERMUTED_CELLS = 2**22

GroupPairs = dict[tuple[str, str], Difference]


class Contrast(NamedTuple):
    """Hold the means of runs over the same items, and the differences of pairs of runs, from the same draws."""

    means: Resampled
    differences: list[Difference]


def contrast(
    values: np.ndarray,
    pairs: Sequence[tuple[int, int]],
    clips: Sequence[Hashable],
    clusters: Mapping[Any, str] = NO_CLUSTERS,
    *,
    draws: int,
    seed: int = 0,
    weights: np.ndarray | None = None,
) -> Contrast:
    """Compare runs over the same items: their means, and the difference of each pair with its interval and p value.

    Args:
        values: Shape (runs, items); NaN for an item that does not count.
        weights: How much each item counts, shape (items,), such as the words of its reference; None means equally.
        pairs: Rows (a, b) of which a minus b is taken; p is that of `permute`.
        clips: The clip of each item.
        clusters: Clip -> its cluster, for clips that share one.

    >>> found = contrast(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]), [(0, 1)], ["a", "b", "c"], draws=0)
    >>> round(found.differences[0].value, 3), found.differences[0].p
    (0.333, 1.0)
    """
    weights = np.ones(values.shape[1]) if weights is None else weights
    means = resample(mean_of_defined(values, weights), clips, clusters, draws=draws, seed=seed)
    parts = np.nan_to_num(np.array([values[a] - values[b] for a, b in pairs])) * weights
    p = permute(parts, seed, number_clusters(clips, clusters))
    differences = [means.difference(a, b)._replace(p=float(chance)) for (a, b), chance in zip(pairs, p, strict=True)]
    return Contrast(means, differences)


def permute(parts: np.ndarray, seed: int = 0, clusters: np.ndarray | None = None) -> np.ndarray:
    """Run a paired permutation test of sums over clips: two-sided p values, shape (sums,).

    All parts of a cluster change sign together. All sign patterns are tried up to `EXACT` clusters (16,384 patterns),
    else `FLIPS` at random. Sums that differ by rounding alone count as equal, so that p is 1 if no pattern gives a
    smaller difference.

    Args:
        parts: Differences between two systems, shape (sums, clips).
        clusters: The number of each clip's cluster, shape (clips,); None if no two clips share one.

    >>> permute(np.array([[1.0, 2.0, 4.0], [0.0, 0.0, 0.0]])).tolist()
    [0.25, 1.0]
    """
    from scipy.stats import permutation_test

    parts = parts if clusters is None else sum_clusters(parts, clusters)
    count, size = parts.shape[1], np.abs(parts).sum(axis=1)
    parts = parts / np.where(size > 0, size, 1)[:, None]
    return permutation_test(
        (np.ones(count),),
        lambda signs, axis: np.round(signs @ parts.T, DECIMALS) + 0.0,
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**count if count <= EXACT else FLIPS,
        batch=max(1, PATTERN_CELLS // count),
        rng=seed,
    ).pvalue


def separates(raw: np.ndarray, clusters: np.ndarray | None = None) -> bool:
    """Return whether the mean scores of at least two systems differ beyond their paired 95 % interval.

    The intervals are Student's, over the clusters of the clips on which both systems have a score, and are widened for
    the number of pairs (Bonferroni): if systems are equal, fewer than one level in 20 separates them.

    Args:
        raw: X_raw of one level, shape (systems, clips); NaN for a clip without a score.
        clusters: The number of each clip's cluster, shape (clips,); None if no two clips share one.

    >>> separates(np.array([[0.0, 0.1, 0.0, 0.1], [1.0, 0.9, 1.0, 0.8]]))
    True
    >>> separates(np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]))
    False
    """
    from scipy.special import stdtrit

    systems = len(raw)
    pairs = systems * (systems - 1) / 2
    defined = ~np.isnan(raw)
    if not pairs or not defined.any():
        return False
    both = defined.astype(float)
    values = np.where(defined, raw - raw[defined].mean(), 0.0)
    clips = both @ both.T
    sums, squares = values @ both.T, values**2 @ both.T
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (sums - sums.T) / clips
        variance = np.maximum(squares + squares.T - 2 * values @ values.T - clips * mean**2, 0) / (clips - 1)
        error, count = np.sqrt(variance / clips), clips
        if clusters is not None and len(set(clusters.tolist())) < len(clusters):
            error, count = _cluster_error(values, both, clusters, mean)
        half_width = stdtrit(count - 1, 1 - (1 - CONFIDENCE) / 2 / pairs) * error
        return bool((np.abs(mean) > half_width + ROUNDING).any(where=count > 1))


def _cluster_error(
    values: np.ndarray, both: np.ndarray, clusters: np.ndarray, mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard error of each mean difference over clusters, and the number of clusters behind it."""
    squares, count = np.zeros_like(mean), np.zeros_like(mean)
    for cluster in range(int(clusters.max()) + 1):
        own = clusters == cluster
        sums, clips = values[:, own] @ both[:, own].T, both[:, own] @ both[:, own].T
        squares += (sums - sums.T - np.where(clips > 0, mean, 0.0) * clips) ** 2
        count += clips > 0
    return np.sqrt(squares * count / (count - 1)) / (both @ both.T), count


def compare_groups(
    scores: np.ndarray, groups: Sequence[str], clusters: Sequence[Hashable], *, draws: int, seed: int = 0
) -> list[GroupPairs]:
    """Return for each system the mean of A minus that of B, for all pairs of groups by name.

    Args:
        scores: Of clips, shape (systems, clips); NaN for a clip without a score.
        groups: The group of each clip. One with fewer than `FEWEST_CLUSTERS` clusters has differences, but no test.
        draws: Number of permutations; 0 leaves intervals and p values out.
    """
    names, place = np.unique(np.asarray(groups), return_inverse=True)
    units, unit = np.unique(
        np.stack([place, np.unique(np.asarray(clusters), return_inverse=True)[1]]), axis=1, return_inverse=True
    )
    one_hot = np.zeros((units.shape[1], len(place)))
    one_hot[unit.ravel(), np.arange(len(place))] = 1
    sums, sizes = one_hot @ np.nan_to_num(scores).T, one_hot @ (~np.isnan(scores)).T.astype(float)
    label, members = units[0], np.equal.outer(np.arange(len(names)), units[0]).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = (members @ sums) / (members @ sizes)
    pairs = list(combinations(range(len(names)), 2))
    low, high, p = np.full((3, len(pairs), len(scores)), math.nan)
    tested = members.sum(axis=1) >= FEWEST_CLUSTERS
    if draws and tested.sum() > 1:
        kept = tested[label]
        rows = np.array([tested[a] and tested[b] for a, b in pairs])
        numbers = np.cumsum(tested)[label[kept]] - 1
        low[rows], high[rows], p[rows] = _test_groups(sums[kept], sizes[kept], numbers, draws, seed)
    compared: list[GroupPairs] = []
    for row in range(len(scores)):
        compared.append({})
        for at, (a, b) in enumerate(pairs):
            ends = float(low[at, row]), float(high[at, row])
            difference = Difference(float(means[a, row]), float(means[b, row]), *ends, float(p[at, row]))
            compared[-1][str(names[a]), str(names[b])] = difference
    return compared


def _test_groups(
    sums: np.ndarray, sizes: np.ndarray, label: np.ndarray, draws: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both ends of the interval and the p value of each pair, each of shape (pairs, systems).

    Args:
        sums, sizes: Sum of the scores and number of clips of each cluster, shape (clusters, systems).
        label: The group of each cluster, numbers from 0.
    """
    groups = int(label.max()) + 1
    members = np.equal.outer(np.arange(groups), label).astype(float)
    counts = members.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = (members @ sums) / (members @ sizes)
    centered = (sums - sizes * means[label]) * np.sqrt(counts / (counts - 1))[label, None]
    gap, error = _gap_of_groups(sums, sizes, members[None])
    observed = _statistic_of_gap(gap, error)[0]
    generator, chunk = np.random.default_rng(seed), max(1, PERMUTED_CELLS // (groups * len(label)))
    largest: list[np.ndarray] = []
    for start in range(0, draws, chunk):
        permuted = generator.permuted(np.tile(label, (min(chunk, draws - start), 1)), axis=1)
        drawn = np.equal(permuted[:, None], np.arange(groups)[:, None]).astype(float)
        largest.append(
            np.stack([_statistic_of_gap(*_gap_of_groups(each, sizes, drawn)).max(axis=1) for each in (sums, centered)])
        )
    statistics = np.concatenate(largest, axis=1)
    as_large = (statistics[:, :, None] >= observed - ROUNDING).sum(axis=1).max(axis=0)
    p = np.where(np.isnan(gap[0]), math.nan, (1 + as_large) / (1 + draws))
    critical = np.quantile(statistics, CONFIDENCE, axis=1, method="higher").max(axis=0)
    half = np.where(error[0] > ROUNDING, critical * error[0], math.nan)
    return gap[0] - half, gap[0] + half, p


def _gap_of_groups(sums: np.ndarray, sizes: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the difference of each pair of groups and its standard error, shape (draws, pairs, systems).

    Args:
        sums, sizes: As for `_test`.
        members: Whether a cluster is in a group, shape (draws, groups, clusters).
    """
    counts = members.sum(axis=2)[..., None]
    total, weight = members @ sizes, members @ sizes**2
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = members @ sums / total
        squares = members @ sums**2 - 2 * mean * (members @ (sums * sizes)) + mean**2 * weight
        free = members.shape[2] - members.shape[1]
        pooled = squares.sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True) * (members.shape[2] / free)
        own = (squares + PRIOR * pooled * weight / counts) / (counts - 1 + PRIOR) * counts
        variance = np.maximum(own, 0) / total**2
    a, b = np.array(list(combinations(range(members.shape[1]), 2))).T
    return mean[:, a] - mean[:, b], np.sqrt(variance[:, a] + variance[:, b])


def _statistic_of_gap(gap: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return the absolute statistic; 0 for no difference and for an undefined one."""
    gap = np.where(np.isnan(gap), 0.0, np.abs(gap))
    return np.where(gap < ROUNDING, 0.0, gap / np.maximum(np.nan_to_num(error), ROUNDING))
