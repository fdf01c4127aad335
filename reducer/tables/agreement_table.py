"""Show how well sources of labels agree."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.console import printable
from speechiq.reducer.studies.validity.agreement import Agreement


def as_table(rows: Sequence[Agreement]) -> Table:
    """Return a table with one row per pair of sources."""
    table = Table(title="Agreement of labels", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("One", "Other"):
        table.add_column(heading, overflow="fold")
    for heading in ("Items", "Equal %", "Cohen's kappa [95 %]"):
        table.add_column(heading, justify="right", no_wrap=True)
    for of in rows:
        names = (Text(printable(name)) for name in (of.one, of.other))
        table.add_row(*names, str(of.items), f"{100 * of.agree:.1f}", of.kappa.show("z.3f"))
    return table
