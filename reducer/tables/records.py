"""Hold what tables that are not grids yet need to write their files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from speechiq.reducer.tables.publish import as_csv as rows_as_csv
from speechiq.reducer.tables.publish import as_json as as_text
from speechiq.reducer.tables.publish import without_formula

__all__ = ["as_text", "flatten_ends", "known", "rows_as_csv", "without_formula"]


def flatten_ends(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with a column for each number of a nested one, such as a statistic with an interval.

    >>> flatten_ends({"kappa": {"value": 0.5, "low": 0.4}, "answers": 3})
    {'kappa_value': 0.5, 'kappa_low': 0.4, 'answers': 3}
    """
    cells: dict[str, Any] = {}
    for name, value in row.items():
        cells |= {f"{name}_{end}": of for end, of in value.items()} if isinstance(value, Mapping) else {name: value}
    return cells


def known(value: float) -> float | None:
    """Return a number as plain data; None for one that is not finite.

    >>> known(0.5), known(math.nan), known(-math.inf)
    (0.5, None, None)
    """
    return float(value) if math.isfinite(value) else None
