"""`siq study power`: what it plans, what it writes, and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from speechiq.reducer import LEVELS, align, read_systems
from speechiq.reducer.scores import norms
from speechiq.reducer.studies.comparison import compare_scores
from speechiq.reducer.studies.sample_size import parts_of_siq
from tests.commands import print_and_write, refusal, siq
from tests.records import edit_rows
from tests.reducer.conftest import levels, write_run, write_skills
from tests.reducer.judged_runs import graded, write_judged

SKILLS = {"good": 0.9, "middle": 0.6, "bad": 0.1}


def uneven(skill: float) -> dict[str, dict]:
    """Return scores of 12 clips; of the questions of a clip, a share near the skill is right."""
    chance = np.random.default_rng(7).random((12, 3))
    answers = {f"demo/{i}": {f"demo/{i}#{q}": float(chance[i, q] < skill) for q in range(3)} for i in range(12)}
    return levels(skill, clips=12) | {"apply": answers}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name, skill in SKILLS.items():
        write_run(tmp_path / "runs" / name, uneven(skill), system=f"org/{name}")
    return tmp_path / "runs"


def power(*arguments: object) -> str:
    return siq("study", "power", *arguments, "--bootstrap", 60)


def print_plans(*arguments: object, suite: str = "siq") -> tuple[str, list[dict]]:
    printed, content = print_and_write("study", "power", *arguments, "--bootstrap", 60)
    return printed, content["suites"][suite]


def plans(*arguments: object) -> list[dict]:
    return print_plans(*arguments)[1]


def test_median_and_worst_pair_of_each_level(runs, tmp_path, monkeypatch):
    monkeypatch.setattr("speechiq.reducer.output.terminal.PIPE_WIDTH", 80)
    printed = power(runs, "--difference", 2, "--explain", "-o", tmp_path / "o.json", "-o", tmp_path / "o.csv")
    assert max(map(len, printed.splitlines())) <= 80 and "Clips for 2" in printed and "Shown now" in printed
    assert "Small pilot run (12 clips): plan with the upper end of the interval" in printed
    assert "no SIQ: without --norms" in printed
    found = json.loads((tmp_path / "o.json").read_text())["suites"]["siq"]
    assert [(plan["score"], plan["pair"]) for plan in found] == [
        (level, f"{which} pair") for level in LEVELS for which in ("median", "worst")
    ]
    assert (found[1]["a"], found[1]["b"], found[1]["unit"]) == ("org/bad", "org/good", "WER %")
    assert found[0]["deviation"] < found[1]["deviation"]
    assert found[1]["difference"] == pytest.approx(43.333, abs=1e-3)
    assert found[1]["needed_clips"]["low"] <= found[1]["needed_clips"]["value"] <= found[1]["needed_clips"]["high"]
    rows = list(csv.DictReader((tmp_path / "o.csv").read_text().splitlines()))
    assert [float(row["needed_clips"]) for row in rows] == [plan["needed_clips"]["value"] for plan in found]


def test_a_named_pair_and_no_difference(runs):
    printed, (plan,) = print_plans(runs, "--pair", "good", "middle", "--levels", "apply")
    assert (plan["score"], plan["a"], plan["b"]) == ("apply", "org/good", "org/middle")
    assert "needed_clips" not in plan and "Clips for" not in printed and "worst pair" not in printed
    assert f"{plan['smallest_difference']['value']:.2f}" in printed


def test_the_number_that_is_shown_now_needs_the_clips_of_now(runs):
    arguments = (runs, "--levels", "remember", "--pair", "good", "bad")
    (now,) = plans(*arguments)
    (then,) = plans(*arguments, "--difference", now["smallest_difference"]["value"])
    assert then["needed_clips"]["value"] == now["pilot_clips"] == 12


def test_clusters_are_counted_and_needed(runs):
    clips = {f"demo/{number}": f"call {number % 4}" for number in range(12)}
    edit_rows(runs, lambda row: row["doc"].update(cluster=clips[row["doc"]["id"]]))
    printed, found = print_plans(runs, "--difference", 5, "--explain")
    assert "Clusters" in printed and "ICC" in printed and "Small pilot run (4 clusters)" in printed
    for plan in found:
        assert (plan["pilot_clips"], plan["pilot_clusters"]) == (12, 4) and plan["icc"] >= 0
        assert plan["needed_clips"]["value"] == 3 * plan["needed_clusters"]["value"]


def test_items_without_a_score_are_left_out_of_any_suite(tmp_path):
    write_judged(tmp_path / "a", graded([[None], *[[grade % 4] for grade in range(11)]], questions=1), "a")
    write_judged(tmp_path / "b", graded([[5], *[[4 - grade % 2] for grade in range(11)]], questions=1), "b")
    printed, (plan,) = print_plans(tmp_path, "--difference", 10, suite="listening")
    assert "Suite listening: sample size" in printed and "no SIQ" not in printed
    assert (plan["unit"], plan["pilot_clips"], plan["a"]) == ("judge %", 11, "a")
    gaps = [20 * (grade % 4 - (4 - grade % 2)) for grade in range(11)]
    assert plan["difference"] == pytest.approx(np.mean(gaps))
    assert plan["deviation"] == pytest.approx(np.std(gaps, ddof=1))


def test_siq_is_planned_on_norms_from_what_each_clip_adds(runs, tmp_path):
    systems = read_systems([runs])
    scale_file = tmp_path / "norms.json"
    siq("score", runs, "--save-norms", scale_file)
    plan = plans(runs, "--difference", 2, "--norms", scale_file, "--pair", "good", "bad")[-1]
    pool = align(systems)
    scale = norms.read_norms(str(scale_file)).scale_of(pool.clips)
    gap = compare_scores(pool, "org/bad", "org/good", scale=scale, draws=0).siq
    assert plan["score"] == "siq" and plan["difference"] == pytest.approx(gap.value)
    bad, good, _ = parts_of_siq(pool, scale).mean(axis=1)
    assert bad - good == pytest.approx(gap.value)


def test_controls_are_planned_for_only_without_other_systems(runs, tmp_path):
    described = {"kind": "cascade", "asr": {"control": "gold"}}
    config = {"siq": {"pretrained": "gold", "system": described}}
    write_run(tmp_path / "gold", uneven(0.99), system="gold", config=config)
    assert "gold" not in {plan[side] for plan in plans(runs, tmp_path / "gold") for side in "ab"}
    assert {plan["a"] for plan in plans(runs / "bad", tmp_path / "gold")} == {"gold"}


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--difference", 0], "--difference 0: not a difference above 0; give the smallest one that matters"),
        (["--difference", "nan"], "--difference nan: not a difference above 0"),
        (["--difference", 150], "--difference 150: two systems cannot differ so much in Understand (sim. %); give"),
        (["--power", 80], "--power 80: not a probability above 0.05, the error rate of the test, and below 1; did you"),
        (["--power", 0], "--power 0: not a probability"),
        (["--levels", "aply"], "unknown level 'aply'; did you mean apply? known are remember, understand, apply"),
        (["--pair", "good", "org/bda"], "'org/bda' is in no system's name: did you mean org/bad? write enough of"),
        (["--pair", "good", "org/good"], "--pair good org/good: both are 'org/good'; name two systems"),
        (["-o", "o.pdf"], "--output o.pdf: its ending names no format"),
    ],
)
def test_impossible_aims_are_refused(runs, arguments, message):
    assert message in refusal("study", "power", runs, *arguments)


def test_one_system_is_refused(runs):
    assert refusal("study", "power", runs / "good", "--difference", 2) == (
        "only system org/good: a difference needs two; add runs of another, or choose a suite with --levels"
    )


def test_small_pilot_runs_are_refused(tmp_path):
    line = refusal("study", "power", write_skills(tmp_path, SKILLS))
    assert line.endswith("4 clips in 4 clusters: too small a pilot run; run at least 5 clips in 2 clusters")


def test_systems_that_never_differ_are_refused_and_a_level_of_them_is_named(runs, tmp_path):
    same = uneven(0.9)
    write_run(tmp_path / "twins" / "one", same, system="one")
    write_run(tmp_path / "twins" / "two", same, system="two")
    assert "one, two: they differ equally on all clips; give systems" in refusal("study", "power", tmp_path / "twins")
    write_run(tmp_path / "nearly" / "one", same, system="one")
    write_run(tmp_path / "nearly" / "two", same | {"apply": uneven(0.5)["apply"]}, system="two")
    printed = power(tmp_path / "nearly", "--difference", 2, "--explain")
    assert "Remember: the systems differ equally on all clips, so nothing can be planned" in printed
    assert "Apply acc. %" in printed
