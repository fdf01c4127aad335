"""Test whether a level separates systems beyond chance, by paired intervals of the differences between systems."""

from __future__ import annotations

import numpy as np

from speechiq.reducer.stats.interval import CONFIDENCE

ROUNDING = 1e-9


def separates(raw: np.ndarray) -> bool:
    """Return whether the mean scores of at least two systems differ beyond their paired 95 % interval.

    The intervals are Student's, over clips, and are widened for the number of pairs (Bonferroni): if systems are
    equal, fewer than one level in 20 separates them.

    Args:
        raw: X_raw of one level, shape (systems, clips).

    >>> separates(np.array([[0.0, 0.1, 0.0, 0.1], [1.0, 0.9, 1.0, 0.8]]))
    True
    >>> separates(np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]))
    False
    """
    from scipy.special import stdtrit

    systems, clips = raw.shape
    pairs = systems * (systems - 1) / 2
    if clips < 2 or not pairs:
        return False
    covariance = np.atleast_2d(np.cov(raw))
    own = np.diag(covariance)
    variance = np.maximum(own[:, None] + own[None, :] - 2 * covariance, 0)
    mean = raw.mean(axis=1)
    half_width = stdtrit(clips - 1, 1 - (1 - CONFIDENCE) / 2 / pairs) * np.sqrt(variance / clips)
    return bool((np.abs(mean[:, None] - mean[None, :]) > half_width + ROUNDING).any())
