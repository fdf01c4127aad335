"""Two judges of the same answers: how far they agree, and what cannot be compared."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

from tests.commands import refusal, siq
from tests.reducer.judged_runs import JUDGE, graded, write_judged

OTHER = JUDGE | {"judge": "hf:org/judge", "judge_identity": "c" * 64}


def grades(seed: int, shift: int = 0) -> list[list[float | None]]:
    """Return one grade for each of 40 answers; another `shift` is a judge that differs."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 6, 40)
    noise = np.random.default_rng([seed, abs(shift)]).integers(-1, 2, 40)
    return [[float(of)] for of in np.clip(truth + noise + shift, 0, 5)]


@pytest.fixture
def both(tmp_path) -> tuple[Path, Path]:
    """Two folders with two systems each, whose answers two judges scored."""
    for folder, judge, shift in (("a", JUDGE, 0), ("b", OTHER, -1)):
        for seed, system in enumerate(("one", "two")):
            given = grades(seed, shift)
            if (folder, system) == ("b", "two"):
                given[3] = [None]
            write_judged(tmp_path / folder / system, graded(given), system, judge)
    return tmp_path / "a", tmp_path / "b"


def test_agreement_is_that_of_the_scores(both, tmp_path):
    shown = siq("judge", "agree", *both, "-o", tmp_path / "o.json", "-o", tmp_path / "o.csv", "--bootstrap", "200")
    assert "Answers: A judged by openai:gpt-4o, rubric grade_0_5 v1, 3 judgments; B judged by hf:org/judge" in shown
    every, one, two = json.loads((tmp_path / "o.json").read_text())["agreements"]
    assert [every["system"], one["system"], two["system"]] == ["all systems", "one", "two"]
    assert every["answers"] == one["answers"] + two["answers"] == 79 and two["unjudged_b"] == 1
    a, b = (np.array(grades(0, shift)).ravel() for shift in (0, -1))
    expected = cohen_kappa_score(a.astype(int), b.astype(int), weights="quadratic", labels=range(6))
    assert one["kappa"]["value"] == pytest.approx(expected)
    assert one["spearman"]["value"] == pytest.approx(spearmanr(a, b).statistic)
    assert one["bias"]["value"] == pytest.approx((a - b).mean() / 5) and one["ordinal"]
    assert one["equal"]["value"] == pytest.approx((a == b).mean())
    assert 0 < one["bias"]["low"] < one["bias"]["value"] < one["bias"]["high"]
    rows = list(csv.DictReader((tmp_path / "o.csv").read_text().splitlines()))
    assert [float(row["kappa"]) for row in rows] == [of["kappa"]["value"] for of in (every, one, two)]
    assert siq("judge", "agree", *both, "--bootstrap", "200") == shown


def test_intervals_are_those_of_clusters_and_say_so(tmp_path):
    lengths = []
    for name, calls in (("clips", {}), ("calls", {f"talks/{i}": f"call {i // 5}" for i in range(20)})):
        for folder, judge, shift in (("a", JUDGE, 0), ("b", OTHER, -1)):
            rows = graded(grades(0, shift))
            rows = [row | {"doc": row["doc"] | {"cluster": calls.get(row["doc"]["id"])}} for row in rows]
            write_judged(tmp_path / name / folder, rows, "one", judge)
        file, both = tmp_path / f"{name}.json", (tmp_path / name / "a", tmp_path / name / "b")
        shown = siq("judge", "agree", *both, "-o", file, "--bootstrap", "200")
        assert f"200 bootstrap samples of {'clusters' if calls else 'clips'}" in shown
        (agreement,) = json.loads(file.read_text())["agreements"]
        lengths.append(agreement["kappa"]["high"] - agreement["kappa"]["low"])
    assert lengths[0] != lengths[1] and "Few clusters (20 clips in 4 clusters)" in shown


def test_without_draws_there_are_no_intervals(both):
    assert " to " not in siq("judge", "agree", *both, "--bootstrap", "0").split("Spearman:")[0]


def test_other_answers_are_refused(both):
    write_judged(both[1] / "two", graded(grades(1), answer="something else"), "two", OTHER, date=2.0)
    message = refusal("judge", "agree", *both)
    assert (
        "40 of 40 answers of system 'two' differ between the two sides, such as clip 'talks/0' question 'q0'" in message
    )
    assert "one" in siq("judge", "agree", *both, "--allow-mismatch", "--bootstrap", "0")


def test_one_judge_is_refused(both):
    message = refusal("judge", "agree", both[0], both[0] / "one")
    assert message.startswith(
        "category answers: both sides were judged by openai:gpt-4o, rubric grade_0_5 v1, 3 judgments with"
    )


def test_nothing_in_common_is_refused(both, tmp_path):
    write_judged(tmp_path / "c", graded(grades(0)), "three", OTHER)
    assert refusal("judge", "agree", both[0], tmp_path / "c").startswith(
        "no answer has a score of both judges (suites listening and"
    )
    write_judged(tmp_path / "d", graded([[None]] * 40), "one", OTHER)
    assert refusal("judge", "agree", both[0], tmp_path / "d").startswith("no answer has a score of both judges")
