"""Hold a table once for every output: columns with a form and a unit, rows of plain cells, and notes with cautions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from operator import attrgetter
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from speechiq.core.console import count_of
from speechiq.reducer.stats.estimate import ENOUGH_FOR_SIQ, Estimate, plain

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN = "\N{EM DASH}"
#: Heading of an interval, and its width.
INTERVAL = "95 % interval"
NARROW = len(INTERVAL)

#: A text (lines end with a newline; markup for a page is one line), a number, a number with an interval, or nothing.
Cell = str | float | Estimate | None
ENOUGH_CLUSTERS = 10
#: Clips -> coverage of 95 % intervals of SIQ in the worst of the simulated populations, in percent: the mean over its
#: systems and the worst system, on the systems' own scale and on norms.
# Printed by `benchmarks/coverage.py --clips 14 50 --runs runs/demo`, 200 sets each.
MEASURED = {
    14: ((93, 88), (86, 81)),
    50: ((94, 80), (89, 80)),
}


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
        notes: Lines below it, beside the caution about its intervals.
        styles: Style of each row in the terminal; empty for plain rows.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Cell]]
    notes: Sequence[str] = ()
    styles: Sequence[str] = ()

    @property
    def all_notes(self) -> list[str]:
        """Return the lines below the table, the important ones first; those it begins with precede the caution."""
        first = list(takewhile(lambda note: isinstance(note, Important), self.notes))
        return by_importance([*first, *self.caution_lines, *self.notes[len(first) :]])

    @property
    def caution_lines(self) -> list[str]:
        """Return the caution about its intervals: its first sentence is important, the figures follow; none without."""
        caution = find_caution(row.get(column.name) for row in self.rows for column in self.columns)
        sentence, _, figures = (caution or "").partition(". ")
        return [line for line in (Important(f"{sentence}."), figures) if line] if caution else []

    @property
    def shown(self) -> list[Column]:
        """Return the columns that people see, without those that continue another's cells."""
        return [column for column in self.columns if column.heading is not None and not column.below]

    def heading(self, column: Column, width: int = NARROW) -> list[str]:
        """Return the lines of a shown column's heading; over numbers as wide as an interval, if its words allow it.

        Over numbers with intervals it says so. A per cent sign stays with its word.
        """
        parts = [line for part in self.parts(column) for line in self._split_heading(part)]
        if not column.form:
            return [line for line in parts if line]
        held = (line.replace(" %", "\N{NO-BREAK SPACE}%") for line in parts)
        lines = [line for part in held for line in wrap(part, width, break_long_words=False, break_on_hyphens=False)]
        return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]

    def _split_heading(self, part: Column) -> list[str]:
        lines = (part.heading or "").split("\n")
        if not part.form:
            return lines
        cells = (row.get(part.name) for row in self.rows)
        has_intervals = any(isinstance(cell, Estimate) and not math.isnan(cell.low) for cell in cells)
        return [*lines, INTERVAL] if has_intervals else lines

    def lines(self, row: Mapping[str, Cell], column: Column) -> list[str]:
        """Return the lines of a row's cell in a shown column."""
        return [line for part in self.parts(column) if part.name in row for line in part.lines(row[part.name]) if line]

    def sort_key(self, row: Mapping[str, Cell], column: Column) -> float | str | None:
        """Return the number of a cell, unrounded in its unit; empty for an unknown one, None for a text.

        >>> Grid("", [], []).sort_key({"wer": 0.839}, Column("wer", "WER %", factor=100))
        83.9
        """
        cell = row.get(column.name, "")
        number = cell.value if isinstance(cell, Estimate) else cell
        if isinstance(number, str):
            return None
        if number is None or math.isnan(number):
            return ""
        shown = (number if column.factor == 1 else float(f"{number * column.factor:.15g}")) + 0
        return int(shown) if float(shown).is_integer() else shown

    def parts(self, column: Column) -> list[Column]:
        """Return a shown column and those that continue its cells."""
        return [column, *(below for below in self.columns if below.below == column.name)]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as plain data for files, unrounded; an estimate has a key for each end of its interval."""
        names = [column.name for column in self.columns]
        return [flatten(dict(zip(names, map(row.get, names), strict=True))) for row in self.rows]

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


def count_units(clips: int, clusters: int) -> str:
    """Return the number of clips in words, and that of their clusters if clips share one.

    >>> count_units(14, 14), count_units(200, 6)
    ('14 clips', '200 clips in 6 clusters')
    """
    if clusters < clips:
        return f"{count_of(clips, 'clip')} in {count_of(clusters, 'cluster')}"
    return count_of(clips, "clip")


def name_units(samples: Iterable[Any]) -> str:
    """Return the noun of what draws take: clusters if a record of some has fewer `clusters` than `clips`.

    >>> name_units([Estimate(0.5, clusters=14, clips=14), Estimate(0.5, clusters=6, clips=200)])
    'clusters'
    """
    return "clusters" if any(sample.clusters < sample.clips for sample in samples) else "clips"


def find_caution(cells: Iterable[Any]) -> str | None:
    """Return the caution about the least certain interval among some cells; None if all rest on enough clips.

    Few clusters of several clips count more than few clips. An interval counts also if its draws do not define it, as
    those of a single cluster.

    >>> find_caution(["text", Estimate(0.5, 0.4, 0.6, clusters=14, clips=14, enough=50)])
    'Small test set (14 clips): the intervals are approximate. Intervals from fewer than 50 clips may be too narrow'
    >>> find_caution([Estimate(0.5, 0.4, 0.6, clusters=6, clips=200)])
    'Few clusters (200 clips in 6 clusters): the intervals are unreliable, since the clips of a cluster, such as a \
call or a speaker, are alike'
    """
    estimates = [cell for cell in cells if isinstance(cell, Estimate) and (cell.draws or not math.isnan(cell.low))]
    few = [each for each in estimates if each.clusters < min(each.clips, ENOUGH_CLUSTERS)]
    if few:
        fewest = min(few, key=attrgetter("clusters", "clips"))
        return (
            f"Few clusters ({count_units(fewest.clips, fewest.clusters)}): the intervals are unreliable, since the "
            "clips of a cluster, such as a call or a speaker, are alike"
        )
    small = [each for each in estimates if each.clips < each.enough]
    return _describe_small(min(small, key=lambda each: (each.clips, -each.enough))) if small else None


def _describe_small(estimate: Estimate) -> str:
    """Return the caution about an interval that rests on fewer clips than are enough."""
    clips = estimate.clips
    small = f"Small test set ({count_units(clips, estimate.clusters)})"
    if estimate.enough < ENOUGH_FOR_SIQ:
        fewer = f"Intervals from fewer than {estimate.enough} clips may be too narrow"
        return f"{small}: the intervals are approximate. {fewer}"
    size = max((size for size in MEASURED if size <= clips), default=min(MEASURED))
    (own, worst), (norms, worst_on_norms) = MEASURED[size]
    with_size = "" if clips == size else f" of {size} clips"
    return (
        f"{small}: 95 % intervals of SIQ{with_size} contained the truth in {own} % of simulated sets, worst system "
        f"{worst} % (on norms {norms} and {worst_on_norms} %)"
    )
