"""Correlate two rankings of the same systems: Pearson, Spearman and Kendall, with 95 % intervals and p-values."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from speechiq.reducer.stats.estimate import UNDEFINED, Estimate
from speechiq.reducer.stats.interval import CONFIDENCE

#: The fewest systems for which an interval is given: below it the normal approximation has no meaning.
FEWEST = 5


class Coefficient(NamedTuple):
    """Hold one coefficient from -1 to 1, and its two-sided p-value for no association; both may be undefined (NaN)."""

    estimate: Estimate
    p: float


class Correlation(NamedTuple):
    """Hold the three coefficients of one pair of rankings."""

    pearson: Coefficient
    spearman: Coefficient
    kendall: Coefficient


def correlate(ours: Sequence[float], theirs: Sequence[float]) -> Correlation:
    """Return how well two lists of scores of the same systems agree; in both, more is better.

    Intervals are Fisher's for Pearson, those of Bonett and Wright (2000) for Spearman, and those of Fieller, Hartley
    and Pearson (1957) for Kendall. They cover the choice of the systems, not that of the clips. A coefficient is
    undefined if one of the lists has one value only, its interval for fewer than `FEWEST` systems.

    >>> correlation = correlate([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])
    >>> [round(coefficient.estimate.value, 2) for coefficient in correlation]
    [0.9, 0.9, 0.8]
    """
    from scipy import stats

    a, b = np.asarray(ours, float), np.asarray(theirs, float)
    n = len(a)
    return Correlation(
        _coefficient(stats.pearsonr, a, b, lambda r: 1 / math.sqrt(n - 3)),
        _coefficient(stats.spearmanr, a, b, lambda r: math.sqrt((1 + r * r / 2) / (n - 3))),
        _coefficient(stats.kendalltau, a, b, lambda r: math.sqrt(0.437 / (n - 4))),
    )


def _coefficient(
    test: Callable[..., tuple[float, float]], a: np.ndarray, b: np.ndarray, error: Callable[[float], float]
) -> Coefficient:
    """Return a coefficient; `error` gives the standard error of its Fisher transform."""
    from scipy.special import ndtri

    n = len(a)
    if n < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return Coefficient(UNDEFINED, math.nan)
    value, p = map(float, test(a, b))
    if n < FEWEST:
        return Coefficient(Estimate(value, n=n, clusters=n), p)
    if abs(value) >= 1:
        return Coefficient(Estimate(value, value, value, n, n), p)
    middle, half = math.atanh(value), float(ndtri((1 + CONFIDENCE) / 2)) * error(value)
    return Coefficient(Estimate(value, math.tanh(middle - half), math.tanh(middle + half), n, n), p)
