"""Define what every suite gives to `siq score`: tables, plain data, rows and lm-eval's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rich.table import Table

from speechiq.reducer.tables.dashboards import Export


class Scored(NamedTuple):
    """The scores of one suite, ready to be shown and written.

    Attributes:
        tables: All systems first, then one per data set if requested.
        content: The content of the JSON file.
        rows: Rows of the CSV file, from the columns that all rows share.
        export: The content of lm-eval's files.
        warnings: Possible mistakes of the user, a line each.
    """

    tables: list[Table]
    content: Mapping[str, Any]
    rows: Callable[[Mapping[str, str]], list[dict[str, Any]]]
    export: Export
    warnings: list[str]
