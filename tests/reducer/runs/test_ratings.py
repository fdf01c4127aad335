"""Tables from elsewhere: the judge against people, people against each other, and two judges."""

from __future__ import annotations

import csv
import json

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from tests.commands import as_json, print_and_write, refusal, siq

LONG = "question,answer,judge,score,person\n"
WIDE = "question,answer,judge,person_1,person_2,person_3\n"
NAN = float("nan")


def long_rows(*persons: tuple[str, int], count: int = 12) -> str:
    """Answers to questions, two each, scored by persons, each off the judge's score by a number on every third."""
    lines = []
    for number in range(count):
        judge = number % 5
        for person, off in persons:
            score = judge + off * (number % 3 == 0)
            lines.append(f"Q{number // 2}?,answer {number},{judge},{score},{person}\n")
    return "".join(lines)


def draw_scores(count: int = 40) -> np.ndarray:
    """Grades from 1 to 5 of a judge and three people, shape (4, count)."""
    random = np.random.default_rng(3)
    truth = random.integers(1, 6, count)
    return np.clip(truth + random.integers(-1, 2, (4, count)), 1, 5)


def wide_rows(scores: np.ndarray) -> str:
    """Return a row per answer; a score that is not a number is an empty field."""
    lines = []
    for number, given in enumerate(scores.T):
        fields = ["" if np.isnan(score) else f"{score:g}" for score in given]
        lines.append(f"Q{number // 2}?,answer {number},{','.join(fields)}\n")
    return "".join(lines)


def write(folder, text: str, name: str = "ratings.csv"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_rows_of_one_score_give_the_agreement_of_the_judge_and_each_person(tmp_path):
    table = write(tmp_path, LONG + long_rows(("ana", 1), ("ben", 0)))
    shown, content = print_and_write("judge", "check", table)
    assert "Agreement of judge and people" in shown
    records = content["raters"]
    assert [(each["a"], each["b"], each["items"]) for each in records] == [
        ("judge", "ana", 12),
        ("judge", "ben", 12),
        ("ana", "ben", 12),
    ]
    with_ana, with_ben, _ = records
    assert with_ana["bias"]["value"] == pytest.approx(-4 / 12) and with_ana["equal"]["value"] == pytest.approx(8 / 12)
    assert with_ben["kappa"]["value"] == 1 and with_ben["bias"]["value"] == 0


def test_without_a_name_the_person_is_that_of_the_file(tmp_path):
    lines = [{"question": f"Q{n}", "answer": "a", "judge": n % 3, "score": n % 2} for n in range(10)]
    table = write(tmp_path, "".join(json.dumps(line) + "\n" for line in lines), "ana.jsonl")
    (record,) = as_json("judge", "check", table)["raters"]
    assert (record["a"], record["b"]) == ("judge", "ana")


def test_columns_of_people_give_their_agreement_and_that_of_the_judge_with_all_of_them(tmp_path):
    scores = draw_scores().astype(float)
    scores[3, :5] = scores[0, 5] = NAN
    shown, content = print_and_write("judge", "check", write(tmp_path, WIDE + wide_rows(scores)))
    assert "Agreement of people" in shown and "Answers by grade" in shown
    assert "answers without a score of the judge, which count in nothing of the judge: 1" in " ".join(shown.split())
    people = content["people"]
    expected = krippendorff.alpha(scores[1:], level_of_measurement="ordinal")
    assert people["alpha"]["value"] == pytest.approx(expected) and people["alpha"]["low"] < expected
    assert (people["people"], people["items"], people["ordinal"]) == (3, 40, True)
    pairs = [("judge", f"person_{n}") for n in (1, 2, 3)]
    pairs += [("person_1", "person_2"), ("person_1", "person_3"), ("person_2", "person_3")]
    assert [(each["a"], each["b"]) for each in content["raters"]] == pairs
    by_mean, by_majority = content["combined"]
    judged = ~np.isnan(scores[0])
    means = np.nanmean(scores[1:, judged], axis=0)
    assert (by_mean["b"], by_mean["items"]) == ("mean of people", 39)
    assert by_mean["bias"]["value"] == pytest.approx((scores[0, judged] - means).mean())
    chosen = []
    for judge, *given in scores[:, judged].T:
        grades, counts = np.unique([score for score in given if score == score], return_counts=True)
        if 2 * counts.max() > counts.sum():
            chosen.append((judge, grades[counts.argmax()]))
    a, b = np.array(chosen, int).T
    assert (by_majority["b"], by_majority["items"]) == ("majority of people", len(chosen))
    kappa = cohen_kappa_score(a, b, weights="quadratic", labels=range(1, 6))
    assert by_majority["kappa"]["value"] == pytest.approx(kappa)
    assert np.sum(content["confusion"]) == 39 and content["grades"] == [1, 2, 3, 4, 5]
    assert (content["answers"], content["unjudged"]) == (40, 1)


def test_one_person_needs_one_column(tmp_path):
    scores = draw_scores()[:2]
    lines = ["question\tanswer\tjudge\tperson\treference\n"]
    for number, (judge, person) in enumerate(scores.T):
        lines.append(f"Q{number}\tan answer\t{judge}\t{person}\tyes\n")
    shown, content = print_and_write("judge", "check", write(tmp_path, "".join(lines), "ratings.tsv"))
    (record,) = content["raters"]
    kappa = cohen_kappa_score(*scores, weights="quadratic", labels=range(1, 6))
    assert (record["b"], record["items"]) == ("person", 40) and record["kappa"]["value"] == pytest.approx(kappa)
    assert content["combined"] == [] and content["people"] is None and "Agreement of people" not in shown
    assert record["alpha"]["value"] == pytest.approx(krippendorff.alpha(scores, level_of_measurement="ordinal"))


def test_columns_can_have_any_name_and_rows_of_json_may_lack_them(tmp_path):
    judge, ana, ben, _ = draw_scores().tolist()
    lines = []
    for number in range(40):
        line = {"id": number, "question": "Who called?", "answer": "his sister", "judge": judge[number]}
        line |= {"Ana B.": ana[number], "note": "clear"}
        if number % 2:
            line["ben"] = ben[number]
        lines.append(json.dumps(line) + "\n")
    table = write(tmp_path, "".join(lines), "ratings.jsonl")
    siq("judge", "check", table, "--persons", "Ana B., ben", "-o", tmp_path / "check.csv", "--bootstrap", 0)
    rows = list(csv.DictReader((tmp_path / "check.csv").read_text().splitlines()))
    assert [(row["a"], row["b"], row["items"]) for row in rows] == [
        ("judge", "mean of people", "40"),
        ("judge", "Ana B.", "40"),
        ("judge", "ben", "20"),
        ("Ana B.", "ben", "20"),
    ]
    assert "no column 'cem'" in refusal("judge", "check", table, "--persons", "ben,cem")


def test_scores_of_several_scales_are_compared_as_shares(tmp_path):
    head = "question,answer,judge,person,scale\n"
    rows = [f"Q{n},a,{n % 2},{n % 2},0 to 1\n" for n in range(10)] + [f"P{n},a,{n},10,1-10\n" for n in range(1, 11)]
    shown, content = print_and_write("judge", "check", write(tmp_path, head + "".join(rows)))
    (record,) = content["raters"]
    assert record["bias"]["value"] == pytest.approx(sum((n - 10) / 9 for n in range(1, 11)) / 20)
    assert "scores are shares of their scales" in shown and not content["has_grades"]
    rows[3] = "Q3,a,1,1,\n"
    refused = refusal("judge", "check", write(tmp_path, head + "".join(rows)))
    assert "no scale, and other answers have different scales" in refused


def test_scores_that_are_not_whole_have_no_table_of_grades(tmp_path):
    scores = draw_scores() / 2
    shown, content = print_and_write("judge", "check", write(tmp_path, WIDE + wide_rows(scores)))
    expected = krippendorff.alpha(scores[1:], level_of_measurement="interval")
    assert content["people"]["alpha"]["value"] == pytest.approx(expected)
    assert "Answers by grade" not in shown and "interval scale" in shown


TEN = "".join(f"Q{n},a,1,1,1,1\n" for n in range(10))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("question,answer,score\nQ,a,1\n", "no column 'judge'"),
        ("question,answer,judge\nQ,a,1\n", "no column with a person's score; it has question, answer, judge; call"),
        ("question,answer,judge,person,Person\nQ,a,1,1,1\n", "columns 4 and 5 have the same name, 'Person'"),
        ("question,answer,judge,score,person_1\nQ,a,1,1,1\n", "'score' and 'person_1' both hold scores of people"),
        (LONG + "Q,a,good,1,ana\n", "line 2: judge is 'good', not a number"),
        (LONG + "Q,a,1,,ana\n", "line 2: score is '', not a number"),
        (WIDE + "Q,a,1,1,two,\n", "line 2: person_2 is 'two', not a number; write one, or leave the field empty"),
        (LONG + "Q,a,1,1,ana\nQ,a,1,2,ana\n", "line 3: 'ana' scored this answer in an earlier row"),
        (WIDE + "Q,a,1,1,,\nQ,a,1,1,,\n", "line 3: 'person_1' scored this answer in an earlier row; delete one row"),
        (LONG + "Q,a,1,1,ana\nQ,a,2,1,ben\n", "line 3: the judge gave 2 here and 1 in another row of this answer"),
        (LONG + "Q,a,1,1,judge\n", "line 2: person is 'judge'"),
        (LONG + "Q,a,1,1,ana\n", "1 answer with a score of the judge and of a person; score at least 10"),
        (WIDE + ",a,1,1,1,1\n", "line 2: question is '', not a text"),
        (WIDE + "Q,,1,1,1,1\n", "line 2: answer and id are empty"),
        (
            WIDE + TEN.replace(",1,1,1,1", ",1,,n/a,"),
            "judge and person_1, person_2, person_3: no answer has a score of the judge and of a person",
        ),
        ("question,answer,judge,person,scale\nQ,a,6,5,1-5\n", "line 2: judge is 6, outside the scale from 1 to 5"),
        ("question,answer,judge,person,scale\nQ,a,5,0,1-5\n", "line 2: person is 0, outside the scale from 1 to 5"),
        ("question,answer,judge,person,scale\nQ,a,6,5,5-1\n", "line 2: scale is '5-1', not a range"),
        ("question,answer,judge,person,scale\nQ,a,6,5,five\n", "line 2: scale is 'five', not a range"),
        (
            "id,question,answer,judge,person\n7,Q,a,1,1\n7,Q,b,1,1\n",
            "line 3: id '7' has another answer in an earlier row",
        ),
        (
            "question,answer,judge,score,person,scale\nQ,a,1,1,ana,0-1\nQ,a,1,1,ben,0-5\n",
            "line 3: this answer has another scale in an earlier row",
        ),
    ],
)
def test_what_is_wrong_in_a_table_is_said(tmp_path, text, error):
    assert error in refusal("judge", "check", write(tmp_path, text))


@pytest.mark.parametrize(
    ("questions", "line"),
    [
        (1, "bootstrap samples take single answers, since all are to one question"),
        (4, "Few questions (4 of 40 answers): the intervals are unreliable"),
        (20, "bootstrap samples take whole questions"),
    ],
)
def test_draws_take_whole_questions_and_single_answers_of_one_question(tmp_path, questions, line):
    judge, person = draw_scores()[:2]
    rows = [f"{n},Q{n % questions},yes,{judge[n]},{person[n]}\n" for n in range(40)]
    table = write(tmp_path, "id,question,answer,judge,person\n" + "".join(rows))
    shown, content = print_and_write("judge", "check", table)
    assert line in " ".join(shown.split()) and ("Few" in shown) == (questions == 4)
    kappa = content["raters"][0]["kappa"]
    assert kappa["low"] < kappa["value"] < kappa["high"]


@pytest.mark.parametrize(
    ("persons", "error"),
    [
        ("person_1,person_1", "'person_1' occurs twice"),
        ("person_1,", "a name is empty"),
        ("judge", "'judge' holds no scores of a person"),
        ("person_4", "no column 'person_4'"),
    ],
)
def test_wrong_names_of_columns_are_refused(tmp_path, persons, error):
    assert error in refusal("judge", "check", write(tmp_path, WIDE + TEN), "--persons", persons)


def test_columns_are_named_for_tables_alone(tmp_path):
    assert "--persons ana: names columns of a table, which" in refusal("judge", "check", tmp_path, "--persons", "ana")


def test_few_scores_of_each_person_still_give_those_of_all(tmp_path):
    three = "".join(f"P{n},a,1,1,ben\n" for n in range(3))
    table = write(tmp_path, LONG + long_rows(("ana", 0), count=9) + three)
    content = as_json("judge", "check", table)
    assert content["raters"] == [] and content["combined"][0]["items"] == 12


def test_two_judges_are_compared_on_two_tables(tmp_path):
    a, b = draw_scores()[:2]
    head = "id,question,answer,judge\n"
    for name, scores in (("one", a), ("other", b)):
        rows = [f"{n},Q{n // 2},yes,{score}\n" for n, score in enumerate(scores)]
        write(tmp_path, head + "".join(rows[: 40 if name == "one" else 38]), f"{name}.csv")
    files = tmp_path / "one.csv", tmp_path / "other.csv"
    shown, content = print_and_write("judge", "agree", *files)
    assert "Inter-judge agreement" in shown and "answers without a score of both judges: 2" in shown
    (record,) = content["agreements"]
    assert (record["a"], record["b"], record["items"], record["ordinal"]) == ("one", "other", 38, True)
    kappa = cohen_kappa_score(a[:38], b[:38], weights="quadratic", labels=range(1, 6))
    assert record["kappa"]["value"] == pytest.approx(kappa)
    assert record["bias"]["value"] == pytest.approx(record["mean_a"] - record["mean_b"])
    write(tmp_path, files[1].read_text().replace("7,Q3,yes", "7,Q3,no"), "other.csv")
    assert "1 of 38 answers differ, such as that of id '7'" in refusal("judge", "agree", *files)
    assert as_json("judge", "agree", *files, "--allow-mismatch")["agreements"][0]["items"] == 37
    write(tmp_path, "question,answer,judge\nQ,a,1\n", "other.csv")
    assert "no answer has a score in both; give both the same questions" in refusal("judge", "agree", *files)


def test_two_judges_with_different_scales_are_compared_by_shares(tmp_path):
    files = []
    for folder, factor in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        rows = [f"Q{n},yes,{n % 6 * factor},0-{5 * factor}\n" for n in range(12)]
        files.append(write(tmp_path / folder, "question,answer,judge,scale\n" + "".join(rows)))
    shown, content = print_and_write("judge", "agree", *files)
    (record,) = content["agreements"]
    assert record["equal"]["value"] == 1 and record["mean_a"] == record["mean_b"] == 0.5
    assert (record["a"], record["b"]) == tuple(map(str, files)) and "shares of their scales" in shown
