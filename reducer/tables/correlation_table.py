"""Show how well each metric agrees with the ranks of people."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.console import printable
from speechiq.reducer.stats.correlation import FEWEST, Coefficient
from speechiq.reducer.studies.correlated import Row
from speechiq.reducer.tables.table import UNKNOWN


def as_table(rows: Sequence[Row], column: str) -> Table:
    """Return a table with one row per metric: each coefficient over its 95 % interval and its p-value.

    Args:
        rows: The correlations.
        column: Name of the ranks that they are with.
    """
    table = Table(title=Text(f"Correlation with {printable(column)}"), box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("Metric", overflow="fold")
    for name in ("Pearson", "Spearman", "Kendall"):
        table.add_column(f"{name}\n95 % interval\np", justify="right", no_wrap=True)
    for row in rows:
        _, *coefficients = row.correlation
        table.add_row(Text(printable(row.metric)), *map(_cell, coefficients))
    systems = rows[0].correlation.systems if rows else 0
    lines = [
        f"{systems} systems; more is better in every metric, error rates are taken negative",
        "intervals cover the choice of systems, not that of clips",
    ]
    if systems < FEWEST:
        lines.append(f"no intervals below {FEWEST} systems")
    table.caption = Text("\n".join(lines))
    return table


def _cell(of: Coefficient) -> str:
    value, low, high = of.estimate[:3]
    if math.isnan(value):
        return UNKNOWN
    interval = UNKNOWN if math.isnan(low) else f"{low:.2f} to {high:.2f}"
    return f"{value:.3f}\n{interval}\n{of.p:.2g}"
