"""Test the difference between two systems by permutations: on each cluster, chance decides which system is which."""

import numpy as np

from speechiq.reducer.stats.clusters import sum_clusters
from speechiq.reducer.stats.estimate import DECIMALS

#: All sign patterns are tried up to so many clusters; above, so many random ones.
EXACT, FLIPS = 14, 9999
CHUNK_CELLS = 2**20


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
