"""Compare the means of groups of clips: the difference of each pair, with an interval and a p value for all pairs.

Groups have different clips, so that nothing is paired. The test permutes the groups of whole clusters, such as
speakers, and takes the largest statistic over all pairs of each permutation: p values and intervals hold for all pairs
together, as with Holm's correction, but with the correlation of the pairs. The statistic is a difference by its
standard error over clusters. The variance of a group has some of the pooled one, without which few clusters that agree
by chance would have none.

Permuted scores are taken as they are, which is exact if no group differs, and around the mean of their group, which
holds if some do; the larger critical value and the larger p count. A cluster with clips of several groups counts as
one in each of them; what they share makes the test more careful.
"""

import math
from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np

from speechiq.reducer.stats.estimate import CONFIDENCE, Difference

#: Clusters that the pooled variance counts as, beside those of a group.
PRIOR = 2.0
FEWEST = 2
CHUNK_CELLS = 2**22
#: Statistics that differ by less are equal.
ROUNDING = 1e-9

Pairs = dict[tuple[str, str], Difference]


def compare_groups(
    scores: np.ndarray, groups: Sequence[str], clusters: Sequence[Hashable], *, draws: int, seed: int = 0
) -> list[Pairs]:
    """Return for each system the mean of A minus that of B, for all pairs of groups by name.

    Args:
        scores: Of clips, shape (systems, clips); NaN for a clip without a score.
        groups: The group of each clip. One with fewer than `FEWEST` clusters has differences, but no test.
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
    tested = members.sum(axis=1) >= FEWEST
    if draws and tested.sum() > 1:
        kept = tested[label]
        rows = np.array([tested[a] and tested[b] for a, b in pairs])
        numbers = np.cumsum(tested)[label[kept]] - 1
        low[rows], high[rows], p[rows] = _test(sums[kept], sizes[kept], numbers, draws, seed)
    return [
        {
            (str(names[a]), str(names[b])): Difference(
                *(float(number) for number in (means[a, row], means[b, row], low[at, row], high[at, row], p[at, row]))
            )
            for at, (a, b) in enumerate(pairs)
        }
        for row in range(len(scores))
    ]


def _test(
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
    gap, error = _compare(sums, sizes, members[None])
    observed = _divide(gap, error)[0]
    generator, chunk = np.random.default_rng(seed), max(1, CHUNK_CELLS // (groups * len(label)))
    largest: list[np.ndarray] = []
    for start in range(0, draws, chunk):
        permuted = generator.permuted(np.tile(label, (min(chunk, draws - start), 1)), axis=1)
        drawn = np.equal(permuted[:, None], np.arange(groups)[:, None]).astype(float)
        largest.append(np.stack([_divide(*_compare(each, sizes, drawn)).max(axis=1) for each in (sums, centered)]))
    statistics = np.concatenate(largest, axis=1)
    as_large = (statistics[:, :, None] >= observed - ROUNDING).sum(axis=1).max(axis=0)
    p = np.where(np.isnan(gap[0]), math.nan, (1 + as_large) / (1 + draws))
    critical = np.quantile(statistics, CONFIDENCE, axis=1, method="higher").max(axis=0)
    half = np.where(error[0] > ROUNDING, critical * error[0], math.nan)
    return gap[0] - half, gap[0] + half, p


def _compare(sums: np.ndarray, sizes: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


def _divide(gap: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return the absolute statistic; 0 for no difference and for an undefined one."""
    gap = np.where(np.isnan(gap), 0.0, np.abs(gap))
    return np.where(gap < ROUNDING, 0.0, gap / np.maximum(np.nan_to_num(error), ROUNDING))
