"""Test tables as LaTeX: the text that was put in, aligned numbers, the best in bold, notes below."""

from __future__ import annotations

import math
import re
import shutil
import subprocess

import pytest

from speechiq.reducer.output.markup import as_latex, escape_latex
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import Column, Grid
from tests.reducer.output.test_markup import HOSTILE, table_of

NAMES = ("backslash", "asciitilde", "asciicircum", "less", "greater", "bar", "asciigrave")
GLYPH = dict(zip(NAMES, r"\~^<>|`", strict=True))
COMMAND = re.compile(rf"\\text({'|'.join(NAMES)})\{{\}}|\{{\\char34\}}")


def set_latex(text: str) -> str:
    """Return the text that LaTeX sets: of the commands that may occur, then escaped characters; braces group."""
    marked = COMMAND.sub(lambda found: f"\0{ord(GLYPH.get(found[1], chr(34)))};", text.replace("$-$", "-"))
    assert not re.search(r"\\[a-zA-Z]", marked), "no other command is left"
    marked = re.sub(r"\\([&%$#_{}])", lambda found: f"\0{ord(found[1])};", marked)
    assert not re.search(r'[\\&%$#_~^<>|"`]', marked), "no active character is left"
    assert not re.search(r"--|^[*\[]", marked), "no ligature, and nothing that the end of a row would take"
    return re.sub(r"\0(\d+);", lambda found: chr(int(found[1])), re.sub(r"[{}]", "", marked))


@pytest.mark.parametrize("name", HOSTILE)
def test_latex_sets_the_same_text(name):
    assert set_latex(escape_latex(name)) == name


def lines_of(grid: Grid) -> list[str]:
    return [line.strip() for line in as_latex(grid).splitlines()]


def rows_of(grid: Grid) -> list[list[str]]:
    lines = lines_of(grid)
    rows = lines[lines.index("\\midrule") + 1 : lines.index("\\bottomrule")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)&", row.removesuffix(" \\\\"))] for row in rows]


def ranking() -> Grid:
    """Return a ranking as of `siq score`, with a control that is best everywhere."""
    columns = [
        Column("rank", "Rank", ".0f", kind="rank", lower=True),
        Column("system", "System", kind="setup"),
        Column("remember", "Remember\nWER %", ".2f", ".1f", 100.0, kind="level", lower=True),
        Column("remember_z", "Z", "+.2f", below="remember"),
        Column("remember_undefined", "", below="remember"),
        Column("siq", "SIQ", ".2f", ".1f", kind="siq"),
        Column("unparsed", "Unreadable\n%", ".1f", kind="flag"),
    ]
    rows = [
        {"rank": 1, "system": "a+b", "remember": 0.09, "remember_z": 0.5, "siq": Estimate(110.0, 108.0, 112.0)},
        {"rank": 2, "system": "c_d", "remember": 0.0678, "remember_z": -0.5, "siq": Estimate(90.0, -8.0, 92.0)},
        {"rank": "", "system": "gold\ncontrol: gold", "remember": 0.0, "remember_z": 1.0, "siq": math.nan},
    ]
    return Grid("Speech IQ", columns, [row | {"unparsed": 1.0} for row in rows], ["2 systems", "100 % of a_b | <b>"])


def test_a_table_has_the_texts_that_were_put_in():
    lines = lines_of(table_of(HOSTILE))
    assert [set_latex(name) for name, _ in rows_of(table_of(HOSTILE))] == HOSTILE
    assert lines[lines.index("\\toprule") + 1] == r"\shortstack[l]{System \\ name} & {SIQ} \\"
    assert "\\caption{Speech IQ.}" in lines
    assert "100 \\% of a\\_b \\textbar{} \\textless{}b\\textgreater{}\\par" in lines
    assert "\\begin{tabular}{l S[table-format=2.2]}" in lines


def test_a_ranking_has_a_column_for_each_number_and_the_best_in_bold():
    lines = lines_of(ranking())
    kinds = "S[table-format=1.0] l S[table-format=1.2] S[table-format=+1.2] S[table-format=3.2] c S[table-format=1.1]"
    assert f"\\begin{{tabular}}{{{kinds}}}" in lines
    start = lines.index("\\toprule") + 1
    groups = r"\multicolumn{2}{c}{} & \multicolumn{2}{c}{Remember} & \multicolumn{2}{c}{SIQ} & \multicolumn{1}{c}{} \\"
    assert lines[start : start + 2] == [groups, r"\cmidrule(lr){3-4} \cmidrule(lr){5-6}"]
    head = r"{Rank} & System & {WER \%} & {Z} & {} & 95 \% interval & {\shortstack[r]{Unreadable \\ \%}} \\"
    assert lines[start + 2] == head
    assert rows_of(ranking()) == [
        ["1", "a+b", "9.00", "+0.50", "\\bfseries 110.00", "$[108.0, 112.0]$", "1.0"],
        ["2", "c\\_d", "\\bfseries 6.78", "-0.50", "90.00", "$[-8.0, 92.0]$", "1.0"],
        ["", "gold (control: gold)", "0.00", "+1.00", "{---}", "", "1.0"],
    ]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_sets_a_ranking(tmp_path):
    packages = "\\usepackage{booktabs, siunitx}"
    file = tmp_path / "table.tex"
    body = as_latex(ranking()) + as_latex(table_of(HOSTILE[:-1]))
    file.write_text(f"\\documentclass{{article}}{packages}\\begin{{document}}{body}\\end{{document}}\n")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", file.name], cwd=tmp_path, capture_output=True
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
