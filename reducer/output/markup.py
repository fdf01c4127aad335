"""Write grids as Markdown, for READMEs; cells stay text."""

import re
from collections.abc import Iterable, Iterator

from speechiq.reducer.stats.grid import Grid

_MARKDOWN = re.compile(r"[\\`*_{}\[\]|~$#@<>&]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def as_markdown(grid: Grid) -> str:
    """Return a grid as GitHub's Markdown, with a paragraph per note; its title is left out."""
    head, *body = map(_markdown_row, _cells(grid))
    marks = ["---:" if column.form else ":---" for column in grid.shown]
    text = "".join(f"| {' | '.join(row)} |\n" for row in (head, marks, *body))
    return text + "".join(f"\n{escape_markdown(note)}\n" for note in grid.notes)


def escape_markdown(text: str) -> str:
    r"""Escape text for Markdown: no markup, no HTML, no end of a cell, no link.

    >>> print(escape_markdown("a_b|<i>"))
    a\_b\|&lt;i&gt;
    """
    return _MARKDOWN.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), text)


def _cells(grid: Grid) -> Iterator[list[list[str]]]:
    """Yield the headings, then the rows; a cell is its lines."""
    yield [grid.heading(column) for column in grid.shown]
    for row in grid.rows:
        yield [[*map(_single_space, grid.lines(row, column))] for column in grid.shown]


def _single_space(line: str) -> str:
    return " ".join(line.split())


def _markdown_row(cells: Iterable[Iterable[str]]) -> list[str]:
    return ["<br>".join(map(escape_markdown, lines)) for lines in cells]
