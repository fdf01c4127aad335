"""Test the mean of people among the systems."""

import numpy as np
import pytest

from tests.commands import as_json, siq
from tests.reducer.conftest import levels, write_run

SKILLS = {"people:ana.jsonl": 0.9, "people:ben.jsonl": 0.5, "model": 0.7}
LEVELS = ("remember", "understand", "apply")


@pytest.fixture
def runs(tmp_path):
    """Return two people and a system, each with a run of three levels."""
    for number, (name, skill) in enumerate(SKILLS.items()):
        kind = "people" if name.startswith("people") else "cascade"
        config = {"siq": {"pretrained": name, "system": {"kind": kind}}}
        write_run(tmp_path / str(number), levels(skill, clips=12), system=name, config=config)
    return tmp_path


def test_the_mean_is_that_of_the_people_and_has_an_interval(runs):
    content = as_json("score", runs, "--bootstrap", 100)
    (row,) = content["people"]["siq"]
    people = [each for each in content["systems"] if each["system"].startswith("people")]
    assert row["system"] == "people (mean of 2)"
    assert row["siq"] == pytest.approx(np.mean([each["siq"] for each in people]))
    for level in LEVELS:
        assert row[level] == pytest.approx(np.mean([each["categories"][level]["score"] for each in people]))
    assert all(row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] for name in (*LEVELS, "siq"))
    shown = siq("score", runs, "--bootstrap", 100)
    assert "Small test set (12 clips): 95 % intervals of SIQ" in shown.partition("Mean of people")[2]


def test_the_report_has_the_mean_too(runs, tmp_path):
    (row,) = as_json("score", runs, "--bootstrap", 0)["people"]["siq"]
    siq("score", runs, "--bootstrap", 0, "--output", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    section = page[page.index('<section id="people-siq"') :]
    assert "people (mean of 2)" in section and f"{row['siq']:.2f}" in section
    assert '<a href="#people-siq">Mean of people</a>' in page


def test_without_intervals_the_mean_has_none(runs):
    (row,) = as_json("score", runs, "--bootstrap", 0)["people"]["siq"]
    assert row["siq"] > 0 and row.get("siq_low") is None


def test_the_mean_of_two_levels_has_no_siq(runs):
    (row,) = as_json("score", runs, "--levels", "remember,apply", "--bootstrap", 100)["people"]["siq"]
    assert "siq" not in row and row["apply_low"] < row["apply"] < row["apply_high"]


def test_one_person_has_no_mean(runs):
    shown = siq("score", runs / "0", runs / "2", "--bootstrap", 0)
    assert "people:ana.jsonl" in shown and "Mean of people" not in shown
