"""Write grids as Markdown and LaTeX, for READMEs and papers; cells stay text in both."""

import re
from collections.abc import Iterable, Iterator

from speechiq.reducer.stats.grid import Grid

_MARKDOWN = re.compile(r"[\\`*_{}\[\]|~$#@<>&]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_NEGATIVE = re.compile(r"(?<!\S)-(?=\d)")
_LATEX = re.compile(r'[\\{}&%$#_~^<>|"`*\[\N{MINUS SIGN}\N{EM DASH}\N{NOT EQUAL TO}\N{REPLACEMENT CHARACTER}]|-(?=-)')
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"{\char34}",
    "*": "{*}",
    "[": "{[}",
    "-": "{-}",
    "\N{MINUS SIGN}": "$-$",
    "\N{EM DASH}": "---",
    "\N{NOT EQUAL TO}": r"$\neq$",
    "\N{REPLACEMENT CHARACTER}": "?",
}


def as_markdown(grid: Grid) -> str:
    """Return a grid as GitHub's Markdown, with a paragraph per note; its title is left out."""
    head, *body = map(_markdown_row, _cells(grid))
    marks = ["---:" if column.form else ":---" for column in grid.shown]
    text = "".join(f"| {' | '.join(row)} |\n" for row in (head, marks, *body))
    return text + "".join(f"\n{escape_markdown(note)}\n" for note in grid.notes)


def as_latex(grid: Grid) -> str:
    """Return a grid as a LaTeX float for the package booktabs, title and notes above."""
    sides = ["r" if column.form else "l" for column in grid.shown]
    head, *body = (f"    {' & '.join(map(_stack, row, sides))} \\\\\n" for row in _cells(grid))
    title, notes = escape_latex(grid.title), "; ".join(map(escape_latex, grid.notes))
    return (
        "% needs \\usepackage{booktabs}\n"
        f"\\begin{{table}}\n  \\centering\n  \\caption{{{title}. {notes}}}\n"
        f"  \\begin{{tabular}}{{{''.join(sides)}}}\n"
        f"    \\toprule\n{head}    \\midrule\n{''.join(body)}    \\bottomrule\n"
        "  \\end{tabular}\n\\end{table}\n"
    )


def escape_markdown(text: str) -> str:
    r"""Escape text for Markdown: no markup, no HTML, no end of a cell, no link.

    >>> print(escape_markdown("a_b|<i>"))
    a\_b\|&lt;i&gt;
    """
    return _MARKDOWN.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), text)


def escape_latex(text: str) -> str:
    r"""Escape text for LaTeX: no command, no end of a cell or row, no argument of one.

    >>> print(escape_latex("-50 % of a_b & \\input"))
    $-$50 \% of a\_b \& \textbackslash{}input
    """
    signed = _NEGATIVE.sub("\N{MINUS SIGN}", text)
    return _LATEX.sub(lambda found: _ESCAPES.get(found[0], f"\\{found[0]}"), signed)


def _cells(grid: Grid) -> Iterator[list[list[str]]]:
    """Yield the headings, then the rows; a cell is its lines."""
    yield [grid.heading(column) for column in grid.shown]
    for row in grid.rows:
        yield [[*map(_single_space, grid.lines(row, column))] for column in grid.shown]


def _single_space(line: str) -> str:
    return " ".join(line.split())


def _markdown_row(cells: Iterable[Iterable[str]]) -> list[str]:
    return ["<br>".join(map(escape_markdown, lines)) for lines in cells]


def _stack(cell: list[str], side: str) -> str:
    lines = r" \\ ".join(map(escape_latex, cell))
    return lines if len(cell) < 2 else f"\\shortstack[{side}]{{{lines}}}"
