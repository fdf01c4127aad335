"""Correlate two rankings of the same systems: Pearson, Spearman and Kendall, with 95 % intervals and p-values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

#: The fewest systems for which an interval is given: below it the normal approximation has no meaning.
FEWEST = 5


class Coefficient(NamedTuple):
    """One coefficient.

    Attributes:
        value: -1 to 1; NaN if one of the two has the same value for all systems.
        low, high: Its 95 % interval; NaN for fewer than `FEWEST` systems or if it is not defined.
        p: Two-sided, for no association; NaN if it is not defined.
    """

    value: float
    low: float
    high: float
    p: float


class Correlation(NamedTuple):
    """The three coefficients of one pair of rankings over `systems` systems."""

    systems: int
    pearson: Coefficient
    spearman: Coefficient
    kendall: Coefficient


def correlate(ours: Sequence[float], theirs: Sequence[float]) -> Correlation:
    """Return how well two lists of scores agree; in both, more is better.

    Intervals are Fisher's for Pearson, those of Bonett and Wright (2000) for Spearman, and those of Fieller, Hartley
    and Pearson (1957) for Kendall. They cover the choice of the systems, not that of the clips.

    Args:
        ours: One number per system, shape (systems,).
        theirs: The same systems in the same order.

    >>> found = correlate([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])
    >>> [round(of.value, 2) for of in found[1:]]
    [0.9, 0.9, 0.8]
    """
    from scipy import stats

    one, other = np.asarray(ours, float), np.asarray(theirs, float)
    n = len(one)
    return Correlation(
        n,
        _coefficient(stats.pearsonr, one, other, lambda r: 1 / math.sqrt(n - 3)),
        _coefficient(stats.spearmanr, one, other, lambda r: math.sqrt((1 + r * r / 2) / (n - 3))),
        _coefficient(stats.kendalltau, one, other, lambda r: math.sqrt(0.437 / (n - 4))),
    )


def _coefficient(
    test: Callable[..., tuple[float, float]], one: np.ndarray, other: np.ndarray, error: Callable[[float], float]
) -> Coefficient:
    """Return a coefficient; `error` gives the standard error of its Fisher transform."""
    from scipy.special import ndtri

    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return Coefficient(math.nan, math.nan, math.nan, math.nan)
    value, p = map(float, test(one, other))
    if len(one) < FEWEST:
        return Coefficient(value, math.nan, math.nan, p)
    if abs(value) >= 1:
        return Coefficient(value, value, value, p)
    middle, half = math.atanh(value), float(ndtri(0.975)) * error(value)
    return Coefficient(value, math.tanh(middle - half), math.tanh(middle + half), p)
