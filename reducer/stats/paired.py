"""Test paired differences between systems.

One test permutes: on each cluster, chance decides which of two systems is which. The other takes Student's intervals.
"""

import numpy as np

from speechiq.reducer.stats.bootstrap import sum_clusters
from speechiq.reducer.stats.estimate import CONFIDENCE, DECIMALS

#: All sign patterns are tried up to so many clusters; above, so many random ones.
EXACT, FLIPS = 14, 9999
CHUNK_CELLS = 2**20
ROUNDING = 1e-9


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
        batch=max(1, CHUNK_CELLS // count),
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
