"""Aggregate scores of which some are undefined (NaN): those are left out, never counted as 0."""

from __future__ import annotations

import math
from collections.abc import Iterable


def mean(values: Iterable[float]) -> float:
    """Return the mean of the defined values; NaN if none is.

    >>> mean([1.0, math.nan, 0.0]), mean([math.nan])
    (0.5, nan)
    """
    defined = [value for value in values if not math.isnan(value)]
    return math.fsum(defined) / len(defined) if defined else math.nan
