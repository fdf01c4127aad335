"""Two systems on a suite whose categories have different units and directions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.commands import as_json, print_and_write, refusal, siq
from tests.reducer.conftest import frozen_set, write_run, write_skills

CLIPS = [f"demo/{number}" for number in range(8)]
#: Milliseconds until the answer of each of two systems, and how good it is.
DELAYS = {"fast": [200, 260, 300, 310, 330, 350, 380, 400], "slow": [900, 500, 620, 640, 700, 720, 800, 810]}
GRADES = {"fast": [0.5, 0.4, 0.9, 0.3, 0.7, 0.6, 0.2, 0.8], "slow": [0.4, 0.5, 0.8, 0.3, 0.9, 0.6, 0.1, 0.8]}


def write_system(folder: Path, name: str, unit: str, factor: float) -> None:
    """Write a run with the categories `delay`, whose unit is given, and `grade`."""
    described = {
        "remember": {"category": "delay", "measure": {"column": "wer", "direction": "lower", "unit": unit}},
        "understand": {
            "category": "grade",
            "measure": {"column": "similarity", "direction": "higher", "unit": "sim. %"},
        },
    }
    scores = {
        "remember": {clip: factor * of for clip, of in zip(CLIPS, DELAYS[name], strict=True)},
        "understand": dict(zip(CLIPS, GRADES[name], strict=True)),
    }
    metadata = {level: {"suite": "quick", "item": ["id"]} | of for level, of in described.items()}
    write_run(folder / name, scores, system=name, metadata=metadata)


@pytest.fixture
def both_units(tmp_path) -> Path:
    """The same runs with delays in milliseconds and in seconds."""
    for unit, factor in (("ms", 1.0), ("s", 0.001)):
        for name in DELAYS:
            write_system(tmp_path / unit, name, unit, factor)
    return tmp_path


def test_no_number_over_categories_depends_on_a_unit(both_units):
    found = {}
    for unit in ("ms", "s"):
        shown, content = print_and_write("compare", "fast", "slow", both_units / unit, "--clips", "1", "--explain")
        assert " standard deviations, mean of the categories (Delay +" in shown and "points" not in shown
        assert "clips: each category's difference is divided by the standard deviation of its scores" in shown
        found[unit] = content["suites"]["quick"]
    one, other = found["ms"], found["s"]
    assert [of["clip"] for of in one["clips"]] == [of["clip"] for of in other["clips"]]
    assert [of["total"] for of in one["clips"]] == pytest.approx([of["total"] for of in other["clips"]])
    assert one["scores"]["delay"]["difference"] == pytest.approx(1000 * other["scores"]["delay"]["difference"])
    assert one["scores"]["delay"]["difference"] == pytest.approx(np.mean(DELAYS["fast"]) - np.mean(DELAYS["slow"]))


def test_parts_of_clips_sum_to_the_standardised_differences(both_units):
    clips = as_json("compare", "fast", "slow", both_units / "ms")["suites"]["quick"]["clips"]
    assert clips[0]["clip"] == "demo/0", "700 ms apart"
    for category, scores, sign in (("delay", DELAYS, -1), ("grade", GRADES, 1)):
        fast, slow = np.array(scores["fast"]), np.array(scores["slow"])
        expected = sign * (fast.mean() - slow.mean()) / np.concatenate([fast, slow]).std() / 2
        assert sum(of["levels"][category] for of in clips) == pytest.approx(expected)


def test_questions_are_left_out_of_apply_alone(both_units, tmp_path):
    write_skills(both_units / "ms", {"fast": 0.9, "slow": 0.1}, clips=12, tasks="siq", date=2.0)
    frozen = frozen_set(tmp_path / "set.json", ("demo/0", "demo/0#0"))
    told = as_json("compare", "fast", "slow", both_units / "ms", "--exclude", frozen)
    quick = told["suites"]["quick"]
    assert told["excluded"] == 1 and (quick["excluded"], quick["excluded_set"]) == (0, None)


def test_the_table_says_what_it_is_ordered_by(both_units):
    shown = siq("score", both_units / "s", "--explain")
    assert "in the order of mean rank over the categories; their scores are not combined" in shown
    assert "in the order of rank\n" in siq("score", both_units / "s", "--levels", "delay", "--explain")


def test_levels_name_categories_of_each_suite_or_a_suite(both_units):
    write_skills(both_units / "ms", {"fast": 0.9, "slow": 0.1}, clips=12, tasks="siq", date=2.0)
    command = ["compare", "fast", "slow", both_units / "ms", "--clips", "0", "--levels"]
    mixed = siq(*command, "remember,delay")
    assert "by the intervals of remember\n" in mixed and "by the intervals of delay\n" in mixed
    whole = siq(*command, "quick")
    assert "Delay" in whole and "Grade" in whole and "Remember" not in whole
    assert refusal(*command, "delay,dealy") == "levels 'delay, dealy': did you mean delay? name some of delay"
