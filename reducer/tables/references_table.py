"""Show how much of each system's error rate comes from errors of the references."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.console import printable
from speechiq.reducer.studies.references import ReferenceErrors


def as_table(rows: Sequence[ReferenceErrors], unit: str) -> Table:
    """Return a table with one row per set and system; rates in per cent.

    Args:
        rows: The comparisons.
        unit: Unit of the error rate, such as `WER %`.
    """
    table = Table(title="Errors of the references", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("Set", overflow="fold")
    table.add_column("System", overflow="fold")
    for heading in ("Clips\nchanged", f"Original\n{unit}", f"Cleaned\n{unit}", "Difference\n95 % interval", "Share\n%"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        interval = "" if math.isnan(row.low) else f"\n{100 * row.low:z.2f} to {100 * row.high:z.2f}"
        table.add_row(
            Text(printable(row.dataset)),
            Text(printable(row.system)),
            f"{row.clips}\n{row.changed}",
            f"{100 * row.original:.2f}",
            f"{100 * row.cleaned:.2f}",
            f"{100 * row.difference:z.2f}{interval}",
            "" if math.isnan(row.share) else f"{100 * row.share:z.1f}",
        )
    table.caption = Text(
        "Difference: the part of the error rate that the references cause\nShare: of the original rate"
    )
    return table
