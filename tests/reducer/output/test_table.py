"""The ranking on screen and in files."""

from __future__ import annotations

import csv
import io
import json
from types import SimpleNamespace

import numpy as np
import pytest

from speechiq.reducer import System, as_grid, as_json, rank
from speechiq.reducer.output.publish import as_csv
from speechiq.reducer.output.scoreboard_records import csv_rows
from speechiq.reducer.output.scoreboard_table import shown_flags
from speechiq.reducer.runs.systems import Flags
from speechiq.reducer.runs.table import Table
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.scale import Weighting
from speechiq.reducer.stats.grid import flatten
from tests.reducer.conftest import on_screen

HOSTILE = ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "[red]markup[/red]", 'comma, "quote"']


def board_of(*names: str, rule: str = "inverse-std", draws: int = 0, **flags: list[float]):
    """Return a scoreboard; `flags` are columns with a value for each of the seven rows of a system."""
    systems = [
        System.of_scores(
            name,
            {
                "remember": {("a",): -j / 4, ("b",): -j / 8},
                "understand": {("a",): 1 - j / 10, ("b",): 1.0},
                "apply": {("a", "q1"): float(j == 0), ("a", "q2"): float(j <= 1), ("b", "q3"): 1.0},
            },
            levels=LEVELS,
        )
        for j, name in enumerate(names)
    ]
    numbers = {name: np.array(values, float) for name, values in flags.items()}
    flagged = [system.replace(table=Table(system.table.columns, numbers)) for system in systems]
    return rank(flagged, rule=Weighting(rule), draws=draws)


def test_table_shows_what_people_read():
    text = on_screen(as_grid(board_of("best", "middle", "worst", rule="inverse-variance")))
    assert "WER %" in text and "sim. %" in text and "acc. %" in text
    assert text.index("best") < text.index("middle") < text.index("worst")
    best = next(line for line in text.splitlines() if "best" in line)
    assert best.split()[:3] == ["1", "best", "0.00"]
    middle = next(line for line in text.splitlines() if "middle" in line)
    assert middle.split() == ["2", "middle", "18.75", "95.00", "75.00", "100.00"]
    below = text.splitlines()[text.splitlines().index(middle) + 1]
    assert below.split() == ["+0.00", "+0.00", "+0.00"]
    assert "3 systems; level weights (inverse-variance): Remember" in text.replace("\n", " ")
    assert "-0.00" not in text


def test_json_is_exact():
    board = board_of("best", "middle", "worst")
    data = json.loads(json.dumps(as_json(board)))
    assert data["rule"] == "inverse-std"
    assert list(data["weights"]) == ["remember", "understand", "apply"]
    assert sum(data["weights"].values()) == pytest.approx(1)
    assert [row["rank"] for row in data["systems"]] == [1, 2, 3]
    middle = data["systems"][1]
    assert middle["categories"]["remember"]["score"] == 0.1875
    assert middle["siq"] == board.siq[board.pool.systems.index("middle")]
    for row in data["systems"]:
        parts = row["categories"]
        z = sum(data["weights"][level] * parts[level]["z"] for level in parts)
        assert row["siq"] == pytest.approx(100 + 15 * z, abs=1e-12)


def test_csv_reads_back():
    board = board_of(*HOSTILE)
    rows = list(csv.DictReader(io.StringIO(as_csv([flatten(row) for row in csv_rows(board)]))))
    systems = as_json(board)["systems"]
    assert [row["system"] for row in rows] == [("'" * (row["system"][0] in "=+-@")) + row["system"] for row in systems]
    assert [float(row["siq"]) for row in rows] == [row["siq"] for row in systems]
    assert float(rows[0]["apply_z"]) == systems[0]["categories"]["apply"]["z"]
    assert {row["remember_direction"] for row in rows} == {"lower"}


NAMES = (
    "demo:whisper-base+demo:SmolLM2-135M-Instruct",
    "a/system-with/a-name-that+is/longer:than-sixty-characters-of-it",
    "c",
)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_name_and_no_number_breaks_at_any_width(width):
    board = board_of(*NAMES, draws=60, unparsed=[1, 0, 0, 0, 0, 0, 0], none_of_the_above=[1, 1, 1, 0, 0, 0, 0])
    text = on_screen(as_grid(board), width)
    assert "\N{HORIZONTAL ELLIPSIS}" not in text and all(name in text for name in NAMES)
    assert all(len(line) <= width or any(name in line for name in NAMES) for line in text.splitlines())
    words = text.split()
    for row in as_json(board)["systems"]:
        assert f"{row['siq']:.2f}" in words and f"{row['categories']['apply']['z']:+.2f}" in words
    assert words.count("14.3") == words.count("42.9") == 3, "flags"


@pytest.mark.parametrize("control", ["letter:B", "silence"])
def test_what_controls_without_audio_miss_is_no_column(control):
    none = Flags(**dict.fromkeys(Flags._fields, 0.0))
    deaf = SimpleNamespace(control=control, flags=none._replace(incomplete_audio=1.0))
    systems = [SimpleNamespace(control=name, flags=none) for name in ("", "gold")]
    assert shown_flags(SimpleNamespace(systems=[*systems, deaf])) == []
    assert shown_flags(SimpleNamespace(systems=[deaf])) == ["incomplete_audio"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_wide_table_is_keyed_only_where_it_must_be(width):
    assert "[1]" not in on_screen(as_grid(board_of("a", "b", "c")), width)
