"""Hold a table once for every output: columns with a form and a unit, rows of plain cells, and notes below them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from speechiq.reducer.stats.estimate import Estimate, plain

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN = "\N{EM DASH}"
#: Heading of an interval, and its width.
INTERVAL = "95 % interval"
NARROW = len(INTERVAL)

#: A text (lines end with a newline; markup for a page is one line), a number, a number with an interval, or nothing.
Cell = str | float | Estimate | None


class Important(str):
    """Mark a line below a table that comes first: a verdict, or a reason not to trust or to compare the numbers."""

    __slots__ = ()


class Column(NamedTuple):
    """Describe a column of a grid.

    Attributes:
        name: Its key in rows and files.
        heading: Heading as people read it, on one or several lines; None for a column that only files have.
        form: Format of its numbers, such as `.2f` or `+.2f`; empty for texts.
        ends: Format of the ends of intervals; empty for `form`.
        factor: What a number is multiplied with when it is shown: 100 for a share in per cent.
        below: Column whose cells this one continues on the next line; its heading continues the other's as well.
        style: Style of the terminal, such as `bold`.
        kind: What its cells are on pages, such as `bar`, `flag` or `words`; a class of their style.
        lower: Whether pages sort it from the lowest number on at first.
        meaning: What its numbers mean; pages show it on request.
    """

    name: str
    heading: str | None = None
    form: str = ""
    ends: str = ""
    factor: float = 1.0
    below: str = ""
    style: str = ""
    kind: str = ""
    lower: bool = False
    meaning: str = ""

    def lines(self, cell: Cell) -> list[str]:
        """Return the lines of a cell: a value, and its interval if it has one; a dash for what is unknown.

        >>> Column("wer", "WER %", ".2f", ends=".1f", factor=100).lines(Estimate(0.125, 0.1, 0.25))
        ['12.50', '10.0 to 25.0']
        >>> Column("p", "p", ".3f").lines(None)
        ['—']
        """
        if isinstance(cell, str):
            return [cell] if hasattr(cell, "__html__") else cell.split("\n")
        value, *ends = cell if isinstance(cell, Estimate) else (cell,)
        if value is None or math.isnan(value):
            return [UNKNOWN]
        if not self.form:
            return [str(value)]
        shown = [self.show(value)]
        if ends and not math.isnan(ends[0]):
            low, high = (self.show(end, self.ends) for end in ends[:2])
            shown.append(f"{low} to {high}")
        return shown

    def show(self, value: float, form: str = "") -> str:
        """Return a number in the format of the column, never a negative zero."""
        form = form or self.form
        number = value if self.factor == 1 else value * self.factor
        return f"{number:{form.replace('.', 'z.', 1)}}" if form.endswith("f") else f"{number:{form}}"


class Grid(NamedTuple):
    """Hold a table for the terminal, for files and for pages.

    Attributes:
        columns: Its columns; those without a form are texts that name a row.
        rows: Column -> cell; a column without a cell in a row is empty there.
        styles: Style of each row in the terminal; empty for plain rows.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Cell]]
    notes: Sequence[str] = ()
    styles: Sequence[str] = ()

    @property
    def shown(self) -> list[Column]:
        """Return the columns that people see, without those that continue another's cells."""
        return [column for column in self.columns if column.heading is not None and not column.below]

    def heading(self, column: Column, width: int = NARROW) -> list[str]:
        """Return the lines of a shown column's heading; over numbers as wide as an interval, if its words allow it.

        A per cent sign stays with its word.
        """
        parts = (line for part in self._parts(column) for line in (part.heading or "").split("\n"))
        if not column.form:
            return [line for line in parts if line]
        held = (line.replace(" %", "\N{NO-BREAK SPACE}%") for line in parts)
        lines = [line for part in held for line in wrap(part, width, break_long_words=False, break_on_hyphens=False)]
        return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]

    def lines(self, row: Mapping[str, Cell], column: Column) -> list[str]:
        """Return the lines of a row's cell in a shown column."""
        return [line for part in self._parts(column) if part.name in row for line in part.lines(row[part.name]) if line]

    def sort_key(self, row: Mapping[str, Cell], column: Column) -> float | str | None:
        """Return the number of a cell, unrounded in its unit; empty for an unknown one, None for a text."""
        cell = row.get(column.name, "")
        number = cell.value if isinstance(cell, Estimate) else cell
        if isinstance(number, str):
            return None
        if number is None or math.isnan(number):
            return ""
        return (number if column.factor == 1 else number * column.factor) + 0

    def _parts(self, column: Column) -> list[Column]:
        return [column, *(below for below in self.columns if below.below == column.name)]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as plain data for files, unrounded; an estimate has a key for each end of its interval."""
        return [flatten({column.name: row.get(column.name) for column in self.columns}) for row in self.rows]

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a pandas frame, with the columns of `records`."""
        import pandas as pd

        return pd.DataFrame(self.records())


def by_importance(notes: Iterable[str]) -> list[str]:
    """Return lines below a table, the important ones first.

    >>> by_importance(["14 clips", Important("no SIQ")])
    ['no SIQ', '14 clips']
    """
    return sorted(notes, key=lambda note: not isinstance(note, Important))


def flatten(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a record as one row of a CSV file: a column for each nested number, texts of a list in one cell.

    An estimate keeps its name for the value; the two numbers of an `interval` become `low` and `high`.

    >>> flatten({"kappa": Estimate(0.5, 0.4, 0.6), "wer": {"score": 0.1, "interval": None}, "notes": ["a", "b"]})
    {'kappa': 0.5, 'kappa_low': 0.4, 'kappa_high': 0.6, 'wer_score': 0.1, 'wer_low': None, 'wer_high': None, \
'notes': 'a; b'}
    """
    cells: dict[str, Any] = {}
    for key, value in record.items():
        name = f"{prefix}{key}"
        if isinstance(value, Estimate):
            cells |= plain({name: value.value, f"{name}_low": value.low, f"{name}_high": value.high})
        elif key == "interval" or key.endswith("_interval"):
            low, high = plain(value) or (None, None)
            stem = name.removesuffix("interval")
            cells |= {f"{stem}low": low, f"{stem}high": high}
        elif isinstance(value, Mapping):
            cells |= flatten(value, f"{name}_")
        elif isinstance(value, list | tuple):
            cells[name] = "; ".join(map(str, plain(value)))
        else:
            cells[name] = plain(value)
    return cells
