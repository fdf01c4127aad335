"""One grid is printed, and written as Markdown, LaTeX, CSV and JSON; no cell is markup, no number is broken."""

import csv
import io
import json
import math

from speechiq.reducer.output import markup
from speechiq.reducer.output.publish import as_text
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import Column, Grid, Important
from speechiq.reducer.studies.result import StudyResult
from tests.reducer.conftest import on_screen

COLUMNS = [
    Column("system", "System"),
    Column("wer", "Remember\nWER %", ".2f", ends=".1f", factor=100),
    Column("wer_z", "Z", "+.2f", below="wer"),
    Column("siq", "SIQ", ".2f", style="bold"),
    Column("seed"),
]
ROWS = [
    {"system": "[red]a[/]|b", "wer": Estimate(0.125, 0.1, 0.25), "wer_z": 0.5, "siq": 113.016, "seed": 3},
    {"system": "=b", "wer": Estimate(0.0, math.nan, math.nan), "wer_z": -0.001, "siq": math.nan},
]
GRID = Grid("Speech IQ", COLUMNS, ROWS, ["2 systems"])


def test_a_wide_terminal_shows_all_columns_and_stacks_intervals():
    text = on_screen(GRID, 100)
    lines = text.splitlines()
    assert "System" in text and "seed" not in text
    assert any(line.split() == ["[red]a[/]|b", "12.50", "113.02"] for line in lines)
    assert any(line.split() == ["10.0", "to", "25.0"] for line in lines)
    assert any(line.split() == ["=b", "0.00", "—"] for line in lines) and "-0.00" not in text


def test_a_narrow_terminal_keeps_names_and_numbers_whole():
    text = on_screen(GRID, 18)
    assert "[1] [red]a[/]|b" in text and "113.02" in text and "10.0 to 25.0" in text


def lines_of(grid: Grid, explain: bool = False) -> list[str]:
    return on_screen(grid, 80, explain).splitlines()


def test_four_lines_stand_below_a_table_and_warnings_are_never_behind_others():
    notes = ["a", "b", Important("w1"), "c", "d"]
    assert lines_of(GRID._replace(notes=notes))[-4:] == ["w1", "a", "b", "c (1 more: --explain)"]
    assert lines_of(GRID._replace(notes=notes), explain=True)[-5:] == ["w1", "a", "b", "c", "d"]
    assert lines_of(GRID._replace(notes=notes[:4]))[-4:] == ["w1", "a", "b", "c"]
    warnings = [Important(f"w{number}") for number in range(6)]
    last = "w3 (3 more, 2 warnings among them: --explain)"
    assert lines_of(GRID._replace(notes=["a", *warnings]))[-4:] == ["w0", "w1", "w2", last]


def test_stages_that_all_systems_share_stand_above_the_table_once():
    names = "gold+fix+llm ≠\ncontrol: gold", "demo:base+fix+llm"
    grid = Grid("Scores", COLUMNS, [{"system": name} for name in names], [Important("gold+fix+llm is best")])
    text = lines_of(grid)
    assert text[0] == "Scores (each system ends in +fix+llm)" and sum("llm" in line for line in text) == 1
    assert any(line.split() == ["gold", "≠"] for line in text) and any(line.split() == ["demo:base"] for line in text)
    assert text[-1] == "gold is best"
    others = grid._replace(rows=[*grid.rows, {"system": "llm"}])
    assert lines_of(others)[0] == "Scores", "a system of one stage shares none"
    assert lines_of(grid._replace(rows=grid.rows[:1]))[0] == "Scores"


def test_markdown_stacks_the_lines_of_a_cell():
    assert "12.50<br>10.0 to 25.0<br>+0.50" in markup.as_markdown(GRID)


def test_files_have_every_digit_and_every_column():
    result = StudyResult("speechiq-test", [GRID], {"rows": ROWS})
    rows = list(csv.DictReader(io.StringIO(as_text(result, "csv", {}))))
    assert rows[0]["wer_high"] == "0.25" and rows[0]["seed"] == "3" and rows[1]["siq"] == ""
    assert rows[1]["system"] == "'=b"
    content = json.loads(as_text(result, "json", {"schema": "speechiq-test"}))
    assert content["rows"][1]["wer"] == {"value": 0.0, "low": None, "high": None} and content["schema"]


def test_a_frame_has_every_digit_and_every_column():
    frame = GRID.to_frame()
    assert list(frame) == ["system", "wer", "wer_low", "wer_high", "wer_z", "siq", "seed"]
    assert frame["wer_high"].tolist()[0] == 0.25 and frame["seed"].isna().tolist() == [False, True]
