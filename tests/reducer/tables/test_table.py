"""The ranking on screen and in files."""

from __future__ import annotations

import csv
import io
import json

import pytest
from rich.console import Console

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import (
    Context,
    Flags,
    System,
    align,
    as_csv,
    as_json,
    as_table,
    calibrate,
    resample,
    score,
    write_csv,
    write_json,
)
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.tables.table import print_table

HOSTILE = ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "[red]markup[/red]", 'comma, "quote"']


def align_of(*names: str):
    systems = [
        System(
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
    return align(systems)


def scores_of(*names: str, rule: str = "inverse-std"):
    pool = align_of(*names)
    return score(pool, calibrate(pool, rule))


def show(table, width: int = 160) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


def screen(scores, width: int = 160) -> str:
    return show(as_table(scores), width)


def test_table_shows_what_people_read():
    text = screen(scores_of("best", "middle", "worst", rule="inverse-variance"))
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


def test_table_takes_names_as_text():
    text = screen(scores_of(*HOSTILE))
    assert all(name in text for name in HOSTILE)


def test_long_names_fold_so_that_no_number_is_lost():
    name = "demo:whisper-base+demo:SmolLM2-135M-Instruct"
    text = screen(scores_of(name, "b", "c"), width=80)
    assert "…" not in text and "".join(line[8:42].strip() for line in text.splitlines()).count(name) == 1
    assert "118.37" in text and "81.63" in text


def test_json_is_exact():
    scores = scores_of("best", "middle", "worst")
    data = json.loads(json.dumps(as_json(scores)))
    assert list(data)[:2] == ["weights", "rule"] and data["rule"] == "inverse-std"
    assert list(data["weights"]) == ["remember", "understand", "apply"]
    assert sum(data["weights"].values()) == pytest.approx(1)
    assert [row["rank"] for row in data["systems"]] == [1, 2, 3]
    middle = data["systems"][1]
    assert middle["levels"]["remember"]["score"] == 0.1875
    assert middle["siq"] == scores.siq[scores.systems.index("middle")]
    for row in data["systems"]:
        parts = row["levels"]
        assert all(list(part)[:4] == ["score", "direction", "weighted", "z"] for part in parts.values())
        z = sum(data["weights"][level] * parts[level]["z"] for level in parts)
        assert row["siq"] == pytest.approx(100 + 15 * z, abs=1e-12)


def test_csv_reads_back():
    scores = scores_of(*HOSTILE)
    rows = list(csv.DictReader(io.StringIO(as_csv(scores))))
    systems = as_json(scores)["systems"]
    assert [row["system"] for row in rows] == [("'" * (row["system"][0] in "=+-@")) + row["system"] for row in systems]
    assert [float(row["siq"]) for row in rows] == [row["siq"] for row in systems]
    assert float(rows[0]["apply_z"]) == systems[0]["levels"]["apply"]["z"]
    assert list(rows[0])[3:7] == [f"remember_{part}" for part in ("score", "direction", "weighted", "z")]
    assert {row["remember_direction"] for row in rows} == {"lower"}


@pytest.mark.parametrize("write", [write_json, write_csv])
def test_files_are_replaced_whole(tmp_path, write):
    target = tmp_path / "out"
    target.write_text("before")
    (tmp_path / "link").symlink_to(target)
    write(scores_of("ä", "b"), tmp_path / "link")
    assert "ä" in target.read_text(encoding="utf-8")
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out"]


@pytest.mark.parametrize("name", ["no/such/folder.json", "file/x.json", "folder", "device", "x" * 300])
def test_file_that_cannot_be_written(tmp_path, name):
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    (tmp_path / "device").symlink_to("/dev/null")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SpeechIQError, match=r"cannot write '.*': .*; name a file"):
        write_json(scores_of("a", "b"), tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before


NAMES = (
    "demo:whisper-base+demo:SmolLM2-135M-Instruct",
    "a/system-with/a-name-that+is/longer:than-sixty-characters-of-it",
    "c",
)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_name_and_no_number_breaks_at_any_width(width):
    scores = scores_of(*NAMES)
    flags = {name: Flags(0.1234, 0.5, 0.25, 0.987) for name in NAMES}
    systems = tuple(System(name, {}, flags[name], levels=LEVELS) for name in sorted(NAMES))
    table = as_table(scores, Context(systems, bootstrap=resample(align_of(*NAMES), draws=60)))
    console = Console(file=io.StringIO(), width=width)
    print_table(console, table)
    text = console.file.getvalue()
    assert "\N{HORIZONTAL ELLIPSIS}" not in text and all(name in text for name in NAMES)
    assert all(len(line) <= width or any(name in line for name in NAMES) for line in text.splitlines())
    words = text.split()
    for row in as_json(scores)["systems"]:
        assert f"{row['siq']:.2f}" in words and f"{row['levels']['apply']['z']:+.2f}" in words
    assert words.count("12.3") == words.count("98.7") == 3, "flags"
    assert str(table.caption), "what was printed keeps its caption"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_wide_table_is_keyed_only_where_it_must_be(width):
    console = Console(file=io.StringIO(), width=width)
    print_table(console, as_table(scores_of("a", "b", "c")))
    assert "[1]" not in console.file.getvalue()
