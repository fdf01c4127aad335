"""Write grids as markup: Markdown for READMEs, and LaTeX floats that go into a paper as they are."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import INTERVAL, Column, Grid

_MARKDOWN = re.compile(r"[\\`*_{}\[\]|~$#@<>&]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
PACKAGES = "% needs \\usepackage{booktabs, siunitx}\n"
NUMBERS = "\\sisetup{detect-weight, retain-explicit-plus}"
#: Kinds of columns whose best number is bold, and the column whose cell is empty for controls, which never are.
SCORES, RANK = ("level", "siq"), "rank"
_NEGATIVE = re.compile(r"(?<!\S)-(?=\d)")
_SPECIAL = re.compile(r'[\\{}&%$#_~^<>|"`*\[\N{MINUS SIGN}\N{EM DASH}\N{NOT EQUAL TO}\N{REPLACEMENT CHARACTER}]|-(?=-)')
_PLAIN_NUMBER = re.compile(r"([+-]?)(\d+)(?:\.(\d+))?")
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
    marks = ("---:" if column.form else ":---" for column in grid.shown)
    text = _markdown_row(map(grid.heading, grid.shown)) + f"| {' | '.join(marks)} |\n"
    for row in grid.rows:
        text += _markdown_row(grid.lines(row, column) for column in grid.shown)
    return text + "".join(f"\n{escape_markdown(note)}\n" for note in grid.all_notes)


def escape_markdown(text: str) -> str:
    r"""Escape text for Markdown: no markup, no HTML, no end of a cell, no link.

    >>> print(escape_markdown("a_b|<i>"))
    a\_b\|&lt;i&gt;
    """
    return _MARKDOWN.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), text)


def _markdown_row(cells: Iterable[Iterable[str]]) -> str:
    """Return a row of cells, each with its lines one below the other."""
    return f"| {' | '.join(map(_markdown_cell, cells))} |\n"


def _markdown_cell(lines: Iterable[str]) -> str:
    return "<br>".join(escape_markdown(" ".join(line.split())) for line in lines)


class LatexColumn(NamedTuple):
    """Hold one column of a LaTeX table.

    Attributes:
        group: Line of the heading that it shares with its neighbors; empty if it has none.
        heading: Lines of its own heading.
        kind: `l` for texts, `c` for intervals, or `S[...]` of siunitx for numbers.
        cells: A text for each row.
    """

    group: str
    heading: list[str]
    kind: str
    cells: list[str]

    @property
    def is_numeric(self) -> bool:
        """Return whether siunitx reads its cells, so that text needs braces."""
        return self.kind.startswith("S")


def as_latex(grid: Grid) -> str:
    """Return a grid as a LaTeX float with its title as the caption, the best score of each column in bold.

    A value, the value that other forms show below it, and an interval are columns of their own under one heading.
    """
    columns = [part for column in grid.shown for part in _split_column(grid, column)]
    rows = zip(*(column.cells for column in columns), strict=True)
    lines = [*_head_lines(columns), "\\midrule", *(_as_row(row) for row in rows)]
    table = "\n".join(f"    {line}" for line in ["\\toprule", *lines, "\\bottomrule"])
    notes = "".join(f"\n    {escape_latex(note)}\\par" for note in grid.all_notes)
    below = f"  \\par\\smallskip\n  \\begin{{minipage}}{{\\linewidth}}\\footnotesize{notes}\n  \\end{{minipage}}\n"
    return (
        f"{PACKAGES}\\begin{{table}}\n  \\centering\n  {NUMBERS}\n  \\caption{{{escape_latex(grid.title)}.}}\n"
        f"  \\begin{{tabular}}{{{' '.join(column.kind for column in columns)}}}\n{table}\n  \\end{{tabular}}\n"
        f"{below if notes else ''}\\end{{table}}\n"
    )


def escape_latex(text: str) -> str:
    r"""Escape text for LaTeX: no command, no end of a cell or row, no argument of one.

    >>> print(escape_latex("-50 % of a_b & \\input"))
    $-$50 \% of a\_b \& \textbackslash{}input
    """
    signed = _NEGATIVE.sub("\N{MINUS SIGN}", text)
    return _SPECIAL.sub(lambda found: _ESCAPES.get(found[0], f"\\{found[0]}"), signed)


def _split_column(grid: Grid, column: Column) -> list[LatexColumn]:
    """Return the columns that the parts of a shown column become; the first line of its heading is their group."""
    first, *rest = (column.heading or "").split("\n")
    columns = [*_value_columns(grid, column, rest)]
    for part in grid.parts(column)[1:]:
        heading = (part.heading or "").split("\n")
        columns += [each for each in _value_columns(grid, part, heading) if any(each.cells)]
    if len(columns) == 1:
        return [columns[0]._replace(heading=[line for line in (first, *rest) if line])]
    return [each._replace(group=first) for each in columns]


def _value_columns(grid: Grid, column: Column, heading: list[str]) -> Iterator[LatexColumn]:
    """Yield the column of the values, and that of their intervals if there are some."""
    cells = [row.get(column.name, "") for row in grid.rows]
    if not column.form:
        return (yield LatexColumn("", heading, "l", [_as_text(column, cell) for cell in cells]))
    values = [cell if isinstance(cell, str) else column.lines(cell)[0] for cell in cells]
    best = _find_best(grid, column)
    shown = [_as_number(value, row in best) for row, value in enumerate(values)]
    yield LatexColumn("", heading, f"S[table-format={_number_format(values)}]", shown)
    ends = [cell.ends if isinstance(cell, Estimate) else (math.nan, math.nan) for cell in cells]
    if any(not math.isnan(low) for low, _ in ends):
        yield LatexColumn("", [INTERVAL], "c", [_as_interval(column, low, high) for low, high in ends])


def _as_text(column: Column, cell: object) -> str:
    """Return a text with its further lines in brackets, such as `gold (control: gold)`."""
    first, *rest = cell.split("\n") if isinstance(cell, str) else column.lines(cell)  # type: ignore[arg-type]
    further = f" ({'; '.join(rest)})" if rest else ""
    return escape_latex(" ".join(f"{first}{further}".split()))


def _as_number(value: str, is_best: bool) -> str:
    """Return a number as siunitx reads it; other text in braces."""
    if not _PLAIN_NUMBER.fullmatch(value):
        return f"{{{escape_latex(value)}}}" if value else ""
    return f"\\bfseries {value}" if is_best else value


def _as_interval(column: Column, low: float, high: float) -> str:
    """Return an interval as mathematics, so that a minus is one."""
    if math.isnan(low):
        return ""
    return f"$[{column.show(low, column.ends)}, {column.show(high, column.ends)}]$"


def _number_format(values: Iterable[str]) -> str:
    """Return the `table-format` of siunitx that fits all numbers: sign, digits before and after the point.

    >>> _number_format(["+0.70", "-1.35", "—"]), _number_format(["9.00", "100.00"])
    ('+1.2', '3.2')
    """
    found = [match for value in values if (match := _PLAIN_NUMBER.fullmatch(value))]
    sign = "+" if any(match[1] for match in found) else ""
    before = max((len(match[2]) for match in found), default=1)
    after = max((len(match[3] or "") for match in found), default=0)
    return f"{sign}{before}.{after}"


def _find_best(grid: Grid, column: Column) -> set[int]:
    """Return the rows with the best score of a column in a ranking, controls left out; none if all are equal."""
    if column.kind not in SCORES or RANK not in (each.name for each in grid.columns):
        return set()
    scores: dict[int, str] = {}
    for number, row in enumerate(grid.rows):
        shown = column.lines(row.get(column.name, ""))[0]
        if row.get(RANK) != "" and _PLAIN_NUMBER.fullmatch(shown):
            scores[number] = shown
    choose = min if column.lower else max
    best = choose(map(float, scores.values()), default=math.nan)
    equal = {number for number, shown in scores.items() if float(shown) == best}
    return set() if len(equal) == len(scores) else equal


def _head_lines(columns: Sequence[LatexColumn]) -> Iterator[str]:
    """Yield the rows of the heading: the groups with a line below each, if there are any, then the columns'."""
    if any(column.group for column in columns):
        cells, rules, end = [], [], 0
        for group, members in groupby(columns, key=lambda column: column.group):
            start, end = end + 1, end + len(list(members))
            cells.append(f"\\multicolumn{{{end - start + 1}}}{{c}}{{{escape_latex(group)}}}")
            if group:
                rules.append(f"\\cmidrule(lr){{{start}-{end}}}")
        yield _as_row(cells)
        yield " ".join(rules)
    yield _as_row(_as_heading(column) for column in columns)


def _as_heading(column: LatexColumn) -> str:
    lines = r" \\ ".join(map(escape_latex, column.heading))
    side = "r" if column.is_numeric else column.kind
    text = lines if len(column.heading) < 2 else f"\\shortstack[{side}]{{{lines}}}"
    return f"{{{text}}}" if column.is_numeric else text


def _as_row(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
