"""Figures of a judge on one system's answers, in the table, the files and the comparability guard."""

from __future__ import annotations

import csv
import json
import math

import krippendorff
import numpy as np
import pytest
from scipy.stats import spearmanr
from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.judged import Judged
from speechiq.reducer.studies.agreement import largest_disagreements, measure_reliability
from tests.commands import siq
from tests.reducer.judged_runs import EXACT_MATCH, JUDGE, graded, judged_row, write_judged

NAN = math.nan


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


def test_expected_grades_are_on_the_interval_scale():
    assert not measure_reliability(answers([(4.25,), (1.5,)]), draws=0).ordinal


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
        error = CliRunner().invoke(app, [*map(str, command)]).exception
        assert isinstance(error, SpeechIQError)
        message = str(error)
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
    error = CliRunner().invoke(app, ["score", str(tmp_path)]).exception
    assert named in str(error)


def test_a_rubric_of_a_user_is_named_with_its_digest(tmp_path):
    write_judged(
        tmp_path, graded([[5], [4]]), "a", JUDGE | {"judge_rubric": "own.yaml", "judge_rubric_sha256": "ab" * 32}
    )
    assert "rubric own.yaml abababababab, 3 judgments" in siq("score", tmp_path, "--bootstrap", "0")
