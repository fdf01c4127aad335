"""Agreement of two judges, the reliability of one, and its preference for a place."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

from speechiq.metrics.judge.judging import PairJudgment
from speechiq.reducer.runs.judged import Judged
from speechiq.reducer.studies.agreement import largest_disagreements, measure_position_bias, measure_reliability
from tests.commands import print_and_write, refusal, siq
from tests.reducer.judged_runs import EXACT_MATCH, JUDGE, graded, judged_row, write_judged

OTHER = JUDGE | {"judge": "hf:org/judge", "judge_identity": "c" * 64}
NAN = math.nan


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
    assert " to " not in siq("judge", "agree", *both, "--bootstrap", "0").split("Spearman:")[0]


def test_intervals_are_those_of_clusters_and_say_so(tmp_path):
    lengths = []
    for name, calls in (("clips", {}), ("calls", {f"talks/{i}": f"call {i // 5}" for i in range(20)})):
        for folder, judge, shift in (("a", JUDGE, 0), ("b", OTHER, -1)):
            rows = graded(grades(0, shift))
            rows = [row | {"doc": row["doc"] | {"cluster": calls.get(row["doc"]["id"])}} for row in rows]
            write_judged(tmp_path / name / folder, rows, "one", judge)
        both = tmp_path / name / "a", tmp_path / name / "b"
        shown, content = print_and_write("judge", "agree", *both, "--bootstrap", "200")
        assert f"200 bootstrap samples of {'clusters' if calls else 'clips'}" in shown
        (agreement,) = content["agreements"]
        lengths.append(agreement["kappa"]["high"] - agreement["kappa"]["low"])
    assert lengths[0] != lengths[1] and "Few clusters (20 clips in 4 clusters)" in shown


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


def test_a_category_that_both_judged_alike_is_left_out_and_named(both):
    for folder in both:
        write_judged(folder / "rest", graded(grades(5)), "one", JUDGE, task="listening_rest", category="rest")
    printed, content = print_and_write("judge", "agree", *both, "--bootstrap", "0")
    assert {row["category"] for row in content["agreements"]} == {"answers"}
    assert content["equal_settings"] == ["rest"] and "Rest: left out, judged with equal settings" in printed


def test_nothing_in_common_is_refused(both, tmp_path):
    write_judged(tmp_path / "c", graded(grades(0)), "three", OTHER)
    assert refusal("judge", "agree", both[0], tmp_path / "c").startswith(
        "no answer has a score of both judges (suites listening and"
    )
    write_judged(tmp_path / "d", graded([[None]] * 40), "one", OTHER)
    assert refusal("judge", "agree", both[0], tmp_path / "d").startswith("no answer has a score of both judges")


def pairs(truth: np.ndarray, first: float, seed: int = 0) -> list[PairJudgment]:
    """Return verdicts of a judge that takes the first place with probability `first` and else sees the truth."""
    random = np.random.default_rng(seed)
    found = []
    for better in truth:
        by_place = random.random(2) < first
        shown_first = 1.0 if by_place[0] else float(better)
        shown_second = -1.0 if by_place[1] else float(better)
        found.append(PairJudgment((shown_first,), (shown_second,), ((shown_first + shown_second) / 2,), ("", "")))
    return found


def test_a_fair_judge_has_none():
    truth = np.random.default_rng(1).choice([-1, 0, 1], 200)
    found = measure_position_bias(pairs(truth, 0.0), [str(i) for i in range(200)])
    assert found.changed.value == found.reversed.value == 0.0 and found.first.value == 0.5
    assert found.first.low < 0.5 < found.first.high and 0 == found.changed.low < found.changed.high


def test_a_judge_of_places_is_found():
    truth = np.random.default_rng(1).choice([-1, 1], 400)
    found = measure_position_bias(pairs(truth, 0.4), [str(i) for i in range(400)])
    assert found.first.low <= 0.7 <= found.first.high, "0.4 + 0.6 / 2"
    assert found.changed.low <= 0.4 <= found.changed.high and found.reversed == found.changed
    assert measure_position_bias(pairs(truth, 1.0), [str(i) for i in range(400)]).first.value == 1.0


def test_draws_without_a_verdict_are_left_out():
    judged = PairJudgment((1.0, math.nan, 0.0), (1.0, 1.0, -1.0), (1.0, math.nan, -0.5), ("",) * 6)
    found = measure_position_bias([judged], ["a"])
    assert found.unjudged == pytest.approx(1 / 3) and found.changed.value == 0.5 and found.reversed.value == 0.0
    assert found.first.value == pytest.approx(2 / 3) and found.first.high - found.first.low > 0.5
    assert math.isnan(measure_position_bias([], []).first.value)


def answers(scores: list[tuple[float, ...]], **others: object) -> dict:
    """Return judged answers of one clip each."""
    usual = {"answer": "a", "rule": 0.5, "match": 0.0, "words": 1.0, "refusal": 0.0, "empty": 0.0} | others
    means = [np.mean([of for of in row if not math.isnan(of)] or [NAN]) / 5 for row in scores]
    return {
        (f"c{i:02}",): Judged(scores=row, judge=mean, **usual)
        for i, (row, mean) in enumerate(zip(scores, means, strict=True))
    }


def test_alpha_is_over_the_readable_draws():
    scores = [(5.0, 4.0, NAN), (1.0, 1.0, 2.0), (NAN, NAN, NAN), (3.0, 3.0, 3.0), (0.0, NAN, NAN)]
    found = measure_reliability(answers(scores), draws=200)
    assert found.alpha.value == pytest.approx(krippendorff.alpha(np.array(scores).T, level_of_measurement="ordinal"))
    assert found.ordinal and found.draws == 3 and found.unjudged == 0.2
    assert found.equal == pytest.approx(np.mean([0, 1 / 3, 1])) and found.unread == pytest.approx(6 / 15)
    assert found.alpha.low <= found.alpha.value <= found.alpha.high
    assert not measure_reliability(answers([(4.25,), (1.5,)]), draws=0).ordinal, (
        "expected grades have an interval scale"
    )


def test_length_is_correlated_over_judged_answers_that_are_not_empty():
    random = np.random.default_rng(0)
    found = answers([(float(of),) for of in random.integers(0, 6, 30)])
    found = {item: of._replace(words=of.scores[0] * 3 + random.normal()) for item, of in found.items()}
    expected = spearmanr([of.judge for of in found.values()], [of.words for of in found.values()]).statistic
    found[("empty",)] = found["c00",]._replace(words=0.0, judge=0.0, scores=(0.0,), empty=1.0)
    found[("unjudged",)] = found["c00",]._replace(words=99.0, judge=NAN, scores=(NAN,))
    measured = measure_reliability(found, draws=100)
    assert measured.length.value == pytest.approx(expected) and measured.items == 32
    assert measured.empty == pytest.approx(1 / 32)


def test_one_score_for_all_has_no_alpha_and_is_named(tmp_path):
    found = measure_reliability(answers([(3.0, 3.0)] * 4), draws=100)
    assert found.constant and math.isnan(found.alpha.value) and math.isnan(found.length.value) and found.equal == 1.0
    write_judged(tmp_path, graded([[3, 3]] * 6), "dull")
    shown = siq("score", tmp_path, "--bootstrap", "0")
    assert "the judge gives all answers of dull (Answers) one score: no correlation and no alpha is defined" in shown


def test_answers_on_which_judge_and_rule_part_most_come_first():
    found = answers([(5.0,), (5.0,), (0.0,)])
    found["c01",] = found["c01",]._replace(rule=0.0)
    assert [item for item, _ in largest_disagreements(found, 2)] == [("c01",), ("c00",)]
    assert largest_disagreements(answers([(2.5,)]), 3) == []


def test_nothing_judged_is_no_crash():
    assert measure_reliability({}, draws=100).items == 0
    assert measure_reliability(answers([(NAN,)] * 3), draws=100).unjudged == 1.0


def test_the_table_and_the_files_have_the_figures(tmp_path):
    rows = [
        judged_row(
            f"talks/{i}", "q", [i % 6, (i + i % 2) % 6, i % 6], answer="word " * (i + 1), exact_match=float(i % 6 > 3)
        )
        for i in range(24)
    ]
    rows[0] |= {"refusal": 1.0}
    write_judged(tmp_path / "runs", rows)
    shown = siq("score", tmp_path / "runs", "-o", tmp_path / "o.json", "-o", tmp_path / "o.csv", "--bootstrap", "100")
    assert "Suite listening: reliability of the judge" in shown
    assert "Answers: judged by openai:gpt-4o, rubric grade_0_5 v1, 3 judgments" in shown
    (row,) = json.loads((tmp_path / "o.json").read_text())["suites"]["listening"]["systems"]
    cell = row["categories"]["answers"]
    found = cell["reliability"]
    assert cell["judge"] == "judged by openai:gpt-4o, rubric grade_0_5 v1, 3 judgments"
    assert found["refusals"] == pytest.approx(1 / 24) and found["match"] == pytest.approx(1 / 3)
    assert found["unread"] == 0.0 and "Unreadable" in shown
    assert found["alpha"]["low"] <= found["alpha"]["value"] <= found["alpha"]["high"]
    (line,) = csv.DictReader((tmp_path / "o.csv").read_text().splitlines())
    assert float(line["answers_reliability_alpha_value"]) == found["alpha"]["value"]
    assert line["answers_judge"] == cell["judge"] and float(line["answers_reliability_unjudged"]) == 0.0


def test_one_judge_of_several_categories_has_a_row_over_all_answers(tmp_path):
    parts = {"easy": [[5, 4], [4, 4], [5, 5], [3, 5]], "hard": [[0, 1], [1, 1], [2, 0], [1, 1]]}
    for date, (category, scores) in enumerate(parts.items(), 1):
        for system in "ab":
            rows = [judged_row(f"talks/{i}", "q", of) for i, of in enumerate(scores)]
            write_judged(tmp_path / system, rows, system, date=date, task=f"listening_{category}", category=category)
    files = tmp_path / "o.json", tmp_path / "o.csv", tmp_path / "o.html"
    shown = siq("score", tmp_path, "-o", files[0], "-o", files[1], "--bootstrap", "100", "--explain")
    assert "Every Category: differences between categories count too" in shown
    row, _ = json.loads(files[0].read_text())["suites"]["listening"]["systems"]
    found = row["reliability"]
    ratings = np.array([*parts["easy"], *parts["hard"]], dtype=float)
    assert found["items"] == 8
    assert found["alpha"]["value"] == pytest.approx(krippendorff.alpha(ratings.T, level_of_measurement="ordinal"))
    assert found["equal"] == pytest.approx(np.mean(ratings[:, 0] == ratings[:, 1]))
    line, _ = csv.DictReader(files[1].read_text().splitlines())
    assert float(line["reliability_alpha_value"]) == found["alpha"]["value"]
    siq("score", tmp_path, "-o", files[2])
    assert files[2].read_text().count("Every Category</bdi>") == 2


def test_categories_with_different_judges_have_no_common_row(tmp_path):
    for date, (category, judge) in enumerate({"easy": JUDGE, "hard": EXACT_MATCH}.items(), 1):
        rows = graded([[5], [4], [3], [1]])
        write_judged(tmp_path, rows, judge=judge, date=date, task=f"listening_{category}", category=category)
    assert "Every Category" not in siq("score", tmp_path, "--bootstrap", "0")


def test_runs_of_two_judges_are_refused_by_their_names(tmp_path):
    write_judged(tmp_path / "a", graded([[5], [4], [3], [5]]), "a")
    write_judged(tmp_path / "b", graded([[5], [0], [5], [0]]), "b", EXACT_MATCH)
    for command in (
        ["score", tmp_path],
        ["compare", "a", "b", tmp_path],
        ["score", tmp_path, "-o", tmp_path / "r.html"],
    ):
        message = refusal(*command)
        assert "level answers, data set 'talks': judged by 'exact_match' (judge_draws 1" in message or (
            "judged by 'openai:gpt-4o' (judge_draws 3" in message
        )
        assert "'exact_match'" in message and "'openai:gpt-4o'" in message and message.count("judged by") == 1
        assert "judge the stored answers again with one judge" in message and "add --allow-mismatch" in message
    shown = siq("score", tmp_path, "--allow-mismatch", "--bootstrap", "0")
    assert "a ≠" in shown or "b ≠" in shown
    assert "Answers: judged by openai:gpt-4o, rubric grade_0_5 v1, 3 judgments (a); exact_match: no model (b)" in shown
    assert "A judged by openai:gpt-4o" in siq("compare", "a", "b", tmp_path, "--allow-mismatch", "--explain")


@pytest.mark.parametrize(
    ("changed", "named"), [({"judge_rubric": "points_1_10"}, "judge_rubric"), ({"judge_seed": 7}, "judge_seed 7")]
)
def test_other_settings_of_one_judge_are_named(tmp_path, changed, named):
    write_judged(tmp_path / "a", graded([[5], [4]]), "a")
    write_judged(tmp_path / "b", graded([[5], [0]]), "b", JUDGE | changed)
    assert named in refusal("score", tmp_path)


def test_a_rubric_of_a_user_is_named_with_its_digest(tmp_path):
    own = {"judge_rubric": "own.yaml", "judge_rubric_sha256": "ab" * 32}
    write_judged(tmp_path, graded([[5], [4]]), "a", JUDGE | own)
    assert "rubric own.yaml abababababab, 3 judgments" in siq("score", tmp_path, "--bootstrap", "0")
