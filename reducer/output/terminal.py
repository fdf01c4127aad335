"""Print grids in the terminal so that no name and no number is broken, however narrow it is.

The stages that all systems share stand above a table once, and at most four lines stand below it by default.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from textwrap import fill

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from speechiq.core.console import count_of, printable
from speechiq.reducer.stats.grid import Cell, Column, Grid, Important, by_importance

#: Columns of tables that go into a file or a pipe, so that no name is broken.
PIPE_WIDTH = 240
#: Most lines below a table, unless all are asked for.
MOST_NOTES = 4
#: Mark behind the name of a system that was not asked the same as others.
MISMATCH = "\N{NOT EQUAL TO}"
#: Begin of the line below the name of a control.
CONTROL = "control: "


def open_console() -> Console:
    """Return the console for tables: as wide as the terminal, or `PIPE_WIDTH` for a file or a pipe."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def print_grid(grid: Grid, console: Console | None = None, explain: bool = True) -> None:
    """Print a grid and its notes: all if `explain`, else at most `MOST_NOTES`.

    A grid of texts that is too wide breaks between words, and if that does not suffice each row is a paragraph. A grid
    of numbers that is too wide is printed as several tables, with numbers in brackets instead of the texts that name a
    row; these follow, one row per line. Notes break between words only.
    """
    console = console or open_console()
    grid = _without_common_stages(grid)
    if grid.title:
        print_unbroken(console, grid.title)
    table = as_table(grid)
    if not fits(console, table):
        narrow = as_table(grid)
        narrow.padding, narrow.show_edge = 0, False
        table = narrow if fits(console, narrow) else table
    names = [column for column in grid.shown if not column.form]
    if fits(console, table):
        console.print(table)
    elif len(names) == len(grid.shown):
        _print_texts(console, grid)
    else:
        for columns in _share_out(console, grid, [column for column in grid.shown if column.form]):
            console.print(_keyed(grid, columns))
        for number, row in enumerate(grid.rows, 1):
            lines = [line for column in names for line in grid.lines(row, column)]
            print_unbroken(console, f"[{number}] {', '.join(lines)}")
    for note in choose_notes(grid.all_notes, explain):
        print_unbroken(console, note, style="dim italic")


def choose_notes(notes: Iterable[str], explain: bool) -> list[str]:
    """Return the lines to print below a table, important ones first: all, or `MOST_NOTES` and how many follow."""
    ordered = by_importance(notes)
    shown, hidden = ordered[:MOST_NOTES], ordered[MOST_NOTES:]
    if explain or not hidden:
        return ordered
    warnings = sum(isinstance(note, Important) for note in hidden)
    which = f", {count_of(warnings, 'warning')} among them" if warnings else ""
    return [*shown[:-1], f"{shown[-1]} ({len(hidden)} more{which}: --explain)"]


def as_table(grid: Grid) -> Table:
    """Return a grid as a table of the terminal, without title and notes; cells are plain text, never markup."""
    return _table(grid, grid.shown, [_list_cells(grid, row, grid.shown) for row in grid.rows])


def fits(console: Console, table: Table) -> bool:
    """Return whether a console shows a table without breaking a cell."""
    return Measurement.get(console, console.options.update(max_width=10_000), table).maximum <= console.width


def print_unbroken(console: Console, text: str, style: str = "") -> None:
    """Print text that breaks between words only; a word that is longer than the line stays whole."""
    for line in text.split("\n"):
        whole = fill(printable(line), console.width, break_long_words=False, break_on_hyphens=False)
        console.print(Text(whole, style=style), overflow="ignore", crop=False, highlight=False)


def _without_common_stages(grid: Grid) -> Grid:
    """Return a grid with the last stages that all its systems share in the title, and not in the names."""
    lines = (line for row in grid.rows if "system" in row for line in str(row["system"]).split("\n"))
    names = [line.removesuffix(f" {MISMATCH}") for line in lines if not line.startswith(CONTROL)]
    from_last = zip(*(name.split("+")[:0:-1] for name in names), strict=False)
    shared = [stage for stage, *_ in takewhile(lambda stages: len({*stages}) == 1, from_last)]
    common = "".join(f"+{stage}" for stage in reversed(shared))
    if not common or len(names) < 2:
        return grid

    rows = [{**row, "system": str(row.get("system", "")).replace(common, "")} for row in grid.rows]
    notes = [type(note)(note.replace(common, "")) for note in grid.notes]
    title = f"{grid.title} (each system ends in {common})".lstrip()
    return grid._replace(title=title, rows=rows, notes=notes)


def _table(grid: Grid, columns: Iterable[Column], rows: Iterable[Sequence[Text]]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    for column in columns:
        is_number = bool(column.form)
        table.add_column(
            _text(grid.heading(column)),
            justify="right" if is_number else "left",
            no_wrap=is_number,
            overflow="fold",
            style=column.style,
        )
    for number, cells in enumerate(rows):
        table.add_row(*cells, style=grid.styles[number] if grid.styles else None)
    return table


def _print_texts(console: Console, grid: Grid) -> None:
    """Print a grid of texts as a table whose cells break between words, or each row as a paragraph if it is narrow."""
    texts = [[*grid.heading(column), *_lines_of(grid, column)] for column in grid.shown]
    longest_word = [max(map(cell_len, " ".join(lines).split())) for lines in texts]
    longest_line = [max(map(cell_len, lines)) for lines in texts]
    room = console.width - sum(longest_word) - len(texts) + 1
    if room >= 0:
        table = as_table(grid)
        table.padding, table.show_edge = 0, False
        widths = _widen(longest_word, longest_line, room)
        for shown, width in zip(table.columns, widths, strict=True):
            shown.width = width
        console.print(table)
        return
    first, *others = grid.shown
    for row in grid.rows:
        print_unbroken(console, " ".join(grid.lines(row, first)), style="bold")
        for column in others:
            if text := " ".join(grid.lines(row, column)):
                print_unbroken(console, f"  {grid.heading(column)[0]}: {text}")


def _lines_of(grid: Grid, column: Column) -> list[str]:
    return [line for row in grid.rows for line in grid.lines(row, column)]


def _widen(widths: Sequence[int], wanted: Sequence[int], room: int) -> list[int]:
    """Return widths that are wider by `room` together, the narrowest column first, and none wider than wanted.

    >>> _widen([4, 6], [9, 7], 4)
    [8, 6]
    """
    widened = list(widths)
    for _ in range(room):
        missing = [want - width for want, width in zip(wanted, widened, strict=True)]
        if max(missing) <= 0:
            break
        widened[missing.index(max(missing))] += 1
    return widened


def _keyed(grid: Grid, columns: Sequence[Column]) -> Table:
    """Return some columns of a grid, with numbers in brackets instead of names."""
    rows = ([Text(f"[{number}]"), *_list_cells(grid, row, columns)] for number, row in enumerate(grid.rows, 1))
    return _table(grid, [Column("[]", ""), *columns], rows)


def _share_out(console: Console, grid: Grid, columns: Iterable[Column]) -> list[list[Column]]:
    """Return columns in parts, each as many as a console shows side by side, and at least one."""
    parts: list[list[Column]] = []
    for column in columns:
        if parts and fits(console, _keyed(grid, [*parts[-1], column])):
            parts[-1].append(column)
        else:
            parts.append([column])
    return parts


def _list_cells(grid: Grid, row: Mapping[str, Cell], columns: Iterable[Column]) -> list[Text]:
    return [_text(grid.lines(row, column)) for column in columns]


def _text(lines: Iterable[str]) -> Text:
    return Text("\n".join(map(printable, lines)))
