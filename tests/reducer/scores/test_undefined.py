"""Items without a score, where a measure counts them: left out of every mean and comparison, and counted."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from speechiq.metrics.measure import Category, Measure
from speechiq.reducer.api import compare
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.bootstrap import resample_raw
from speechiq.reducer.scores.score_matrix import ScoreMatrix, align
from speechiq.reducer.stats.contrast import separates
from tests.commands import print_and_write, refusal, siq
from tests.reducer.judged_runs import METADATA, graded, write_judged

GOOD = [[5], [4], [5], [3], [5], [5], [2], [4], [None], [5]]
BAD = [[1], [2], [None], [1], [2], [0], [1], [1], [1], [3]]


@pytest.fixture
def runs(tmp_path) -> Path:
    """Two systems with one unjudged answer each."""
    write_judged(tmp_path / "runs" / "good", graded(GOOD), "good")
    write_judged(tmp_path / "runs" / "bad", graded(BAD), "bad")
    return tmp_path / "runs"


def test_they_are_left_out_of_the_mean_and_counted(runs, tmp_path):
    shown = siq("score", runs, "-o", tmp_path / "o.json", "-o", tmp_path / "o.csv", "--bootstrap", "100")
    assert shown.count("1 of 10 unjudged") == 2
    assert "Answers: 2 of 20 responses are unjudged and left out" in shown
    good, bad = json.loads((tmp_path / "o.json").read_text())["suites"]["listening"]["systems"]
    cell = good["categories"]["answers"]
    assert cell["undefined"] == 1 and bad["categories"]["answers"]["undefined"] == 1
    by_clip = [4.5 / 5, 4 / 5, 1.0, 3 / 5, 1.0]
    assert cell["score"] == pytest.approx(np.mean(by_clip)), "a clip with one judged answer of two counts once"
    low, high = cell["interval"]
    assert low < cell["score"] < high
    rows = list(csv.DictReader((tmp_path / "o.csv").read_text().splitlines()))
    assert [row["answers_undefined"] for row in rows] == ["1", "1"]


def test_systems_with_other_items_are_not_compared(runs):
    (file,) = (runs / "bad").glob("samples_*.jsonl")
    file.write_text(file.read_text().replace('"q0"', '"other"', 1))
    message = refusal("compare", "good", "bad", runs)
    assert "2 of 11 items are not scored by every system" in message
    assert "missing in 'good', 'bad'" in message


def test_a_null_is_read_as_nan(runs):
    (file,) = (runs / "good").glob("samples_*.jsonl")
    before = siq("score", runs, "--bootstrap", "0")
    file.write_text(file.read_text().replace('"judge": NaN', '"judge": null'))
    assert "null" in file.read_text() and siq("score", runs, "--bootstrap", "0") == before


@pytest.mark.parametrize("value", ["NaN", "null"])
def test_without_the_key_they_are_an_error(tmp_path, value):
    measure = {key: of for key, of in METADATA["measure"].items() if key != "undefined"}
    write_judged(tmp_path, graded(GOOD), measure=measure)
    (file,) = tmp_path.glob("samples_*.jsonl")
    file.write_text(file.read_text().replace('"judge": NaN', f'"judge": {value}'))
    message = refusal("score", tmp_path)
    assert "scores are not finite" in message if value == "NaN" else "needs doc.id, doc.question_id" in message


def test_infinity_is_an_error_with_the_key(runs):
    (file,) = (runs / "good").glob("samples_*.jsonl")
    file.write_text(file.read_text().replace('"judge": NaN', '"judge": Infinity'))
    assert "the score is inf" in refusal("score", runs)


def test_a_comparison_takes_the_items_that_both_have(runs):
    shown, content = print_and_write("compare", "good", "bad", runs, "--clips", "1")
    assert "Answers: 8 of 10 items have a score of both; unjudged: A 1, B 1" in shown
    assert "an answer to q" in shown and "coverage" not in shown, "the answer is shown, not the judge's record"
    found = content["suites"]["listening"]
    assert found["undefined"] == {"answers": {"a": 1, "b": 1, "items": 10, "compared": 8}}
    both = [(one[0] / 5, other[0] / 5) for one, other in zip(GOOD, BAD, strict=True) if None not in (*one, *other)]
    clips = {0: [0, 1], 1: [2], 2: [3, 4], 3: [5, 6], 4: [7]}
    expected = np.mean([np.mean([both[i][0] - both[i][1] for i in rows]) for rows in clips.values()])
    assert found["scores"]["answers"]["difference"] == pytest.approx(expected)
    assert found["scores"]["answers"]["better"] == "good" and found["better"] is None, "five clips have no verdict"
    frame = compare("good", "bad", runs).to_frame()
    assert frame.loc["answers", ["undefined_a", "undefined_b", "items"]].tolist() == [1, 1, 8]
    assert isinstance(frame, pd.DataFrame)


def test_a_system_without_any_score_is_named(runs):
    write_judged(runs / "mute", graded([[None]] * 10), "mute")
    shown, content = print_and_write("score", runs, "--bootstrap", "100")
    assert "Answers: no score for 'mute': all 10 items are unjudged" in shown
    *others, mute = content["suites"]["listening"]["systems"]
    assert mute["mean_rank"] is None and mute["categories"]["answers"]["rank"] is None
    assert [row["mean_rank"] for row in others] == [1.0, 2.0], "the others are ranked as without it"
    message = refusal("compare", "good", "mute", runs)
    assert message.startswith("level answers: no item has a score in all systems (unjudged: 'good' 1 of 10, 'mute' 10")


def test_lm_evals_files_leave_them_out(runs, tmp_path):
    write_judged(runs / "mute", graded([[None]] * 10), "mute")
    siq("score", runs, "-o", tmp_path / "out", "--bootstrap", "100")
    found = {path.parent.name: json.loads(path.read_text()) for path in (tmp_path / "out").glob("*/results_*.json")}
    assert found["good"]["results"]["listening_answers"]["undefined,none"] == 1.0
    mute = found["mute"]["results"]["listening_answers"]
    assert mute["judge,none"] == "N/A" and mute["judge_stderr,none"] == "N/A" and mute["undefined,none"] == 10.0
    assert found["mute"]["n-samples"]["listening_answers"] == {"original": 5, "effective": 0}


def test_the_interval_is_that_of_the_clips_with_a_score():
    random = np.random.default_rng(0)
    raw = random.random((2, 30))
    raw[1, :10] = np.nan
    of = {"judge": Category("s", "judge", Measure("judge", "higher", "%", undefined="counted"), ("id",))}
    names = tuple(f"{i:02}" for i in range(30))
    bars = resample_raw(ScoreMatrix(("a", "b"), {"judge": names}, {"judge": raw}, of), draws=200)
    alone = resample_raw(ScoreMatrix(("b",), {"judge": names[10:]}, {"judge": raw[1:, 10:]}, of), draws=200)
    assert bars.intervals["judge"].low[1] == alone.intervals["judge"].low[0]
    assert bars.std["judge"][1] == alone.std["judge"][0] and np.isfinite(bars.intervals["judge"].low).all()


def test_one_score_has_no_interval():
    of = {"judge": Category("s", "judge", Measure("judge", "higher", "%", undefined="counted"), ("id",))}
    scores = {(f"c{i}",): math.nan for i in range(5)}
    systems = [
        System.of_scores("few", {"judge": scores | {("c0",): 0.5}}, levels=of),
        System.of_scores("all", {"judge": dict.fromkeys(scores, 0.25) | {("c1",): 1.0}}, levels=of),
    ]
    pool = align(systems)
    intervals = resample_raw(pool, draws=100).intervals
    assert pool.systems == ("all", "few") and pool.means["judge"].tolist() == [0.4, 0.5]
    assert np.isnan(intervals["judge"].low).tolist() == [False, True]


def test_pairs_are_separated_on_the_clips_that_both_have():
    one, other = np.linspace(0.8, 1, 20), np.linspace(0, 0.2, 20)
    apart = np.array([one, other])
    apart[0, :15], apart[1, 18:] = np.nan, np.nan
    assert separates(apart)
    apart[1, 15:] = np.nan
    assert not separates(apart), "no clip has both scores"
