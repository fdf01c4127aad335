"""Test whether a level separates systems beyond chance, by paired intervals of the differences between systems."""

from __future__ import annotations

import numpy as np

from speechiq.reducer.stats.interval import CONFIDENCE

ROUNDING = 1e-9


def separates(raw: np.ndarray) -> bool:
    """Return whether the mean scores of at least two systems differ beyond their paired 95 % interval.

    The intervals are Student's, over the clips on which both systems have a score, and are widened for the number of
    pairs (Bonferroni): if systems are equal, fewer than one level in 20 separates them.

    Args:
        raw: X_raw of one level, shape (systems, clips); NaN for a clip without a score.

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
        half_width = stdtrit(clips - 1, 1 - (1 - CONFIDENCE) / 2 / pairs) * np.sqrt(variance / clips)
        return bool((np.abs(mean) > half_width + ROUNDING).any(where=clips > 1))
