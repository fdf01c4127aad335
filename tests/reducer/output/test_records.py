"""Check that the files of `siq score` have the keys and columns of docs/reference/scores.md."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import pytest

from speechiq.reducer import LEVELS
from tests.commands import as_json, siq
from tests.reducer.conftest import write_skills

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "scores.md").read_text(encoding="utf-8")


def table(heading: str) -> list[str]:
    """Return the names in the first column of the table with a heading."""
    (body,) = re.findall(rf"^\| {heading} \|.*\n\|---.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [name for line in body.splitlines() for name in re.findall(r"`([^`]+)`", line.split("|")[1])]


@pytest.fixture
def written(tmp_path: Path) -> tuple[dict, list[dict]]:
    write_skills(tmp_path, {"a": 0.9, "b": 0.5, "c": 0.1}, lm_eval_version="0.4.13")
    files = tmp_path / "siq.json", tmp_path / "siq.csv"
    siq("score", tmp_path, "-o", files[0], "-o", files[1], "--group-by", "dataset")
    return json.loads(files[0].read_text()), list(csv.DictReader(files[1].read_text().splitlines()))


def test_the_keys_of_the_json_are_documented(written):
    data, _ = written
    assert table("key") == list(data)
    assert table("key of a system") == list(data["systems"][0]) == list(data["macro_average"][0])
    last = table("key")[table("key").index("by_dataset") :]
    assert list(data["by_dataset"]["demo"]) == [key for key in data if key not in last]
    (line,) = (line for line in PAGE.splitlines() if line.startswith("| `categories` |"))
    named = re.findall(r"`(\w+)`", line)[1:]
    assert named == list(data["systems"][0]["categories"]["apply"])


def test_the_columns_of_the_csv_are_documented(written):
    _, rows = written
    found = []
    for line in re.findall(r"^\| `.*$", PAGE.partition("## The CSV file")[2], re.MULTILINE):
        names = re.findall(r"`([^`]+)`", line.split("|")[1])
        for level in LEVELS if "<level>" in line else [""]:
            found += [name.replace("<level>", level) for name in names]
    assert found == list(rows[0])
    assert {row["dataset"] for row in rows} == {"all", "demo", "macro-average"}


def test_the_keys_of_a_comparison_are_documented(written, tmp_path):
    data = as_json("compare", "a", "b", tmp_path, "--bootstrap", 60)
    assert table("key of a comparison") == list(data)
    assert list(data["scores"]["apply"]) == ["difference", "a", "b", "low", "high", "p", "better"]


def test_a_file_says_where_it_comes_from(written, tmp_path):
    data, rows = written
    assert (data["schema"], data["schema_version"]) == ("speechiq-scores", 1)
    assert data["speechiq"] == version("speechiq") == rows[0]["speechiq"]
    assert data["runs"] == [str(tmp_path)] and data["command"].split()[0] == "siq"
    assert timedelta(0) <= datetime.now(UTC) - datetime.fromisoformat(data["date"]) < timedelta(minutes=5)
    assert rows[0]["date"] == data["date"]
    assert data["run_dates"] == ["1970-01-01T00:00:01+00:00"] * 2 and data["datasets"] == ["demo"]
    assert data["run_versions"] == {"lm-eval": ["0.4.13"]}
    assert rows[0]["run_versions"] == "lm-eval 0.4.13" and rows[0]["command"] == data["command"]
    assert (rows[0]["schema"], rows[0]["runs"]) == ("speechiq-scores", str(tmp_path))


def test_every_measure_is_documented():
    lines = re.findall(r"^\| (remember|understand|apply) \| (.*) \|$", PAGE, re.MULTILINE)
    assert {level: re.findall(r"`(\w+)`", names) for level, names in lines} == {
        level: of.measure.columns for level, of in LEVELS.items()
    }
