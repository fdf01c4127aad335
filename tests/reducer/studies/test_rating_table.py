"""Test `siq judge check` on a table of scores that the user made."""

from __future__ import annotations

import json

import pytest

from tests.commands import refusal, siq

HEAD = "question,answer,judge,score,person\n"
THREE = "".join(f"Q{n},a,1,1,ben\n" for n in range(3))


def rows(*persons: tuple[str, int], count: int = 12) -> str:
    """Twelve answers to six questions, scored by persons, each off the judge's score by a number on every third."""
    lines = []
    for number in range(count):
        judge = number % 5
        for person, off in persons:
            score = judge + off * (number % 3 == 0)
            lines.append(f"Q{number // 2}?,answer {number},{judge},{score},{person}\n")
    return "".join(lines)


def test_a_table_gives_the_agreement_of_the_judge_and_each_person(tmp_path):
    table, output = tmp_path / "ratings.csv", tmp_path / "check.json"
    table.write_text(HEAD + rows(("ana", 1), ("ben", 0)))
    shown = siq("judge", "check", table, "--output", output)
    assert "Agreement of judge and people" in shown
    records = json.loads(output.read_text())["raters"]
    assert [(each["a"], each["b"], each["items"]) for each in records] == [
        ("judge", "ana", 12),
        ("judge", "ben", 12),
        ("ana", "ben", 12),
    ]
    with_ana, with_ben, _ = records
    assert with_ana["bias"]["value"] == pytest.approx(-4 / 12) and with_ana["equal"]["value"] == pytest.approx(8 / 12)
    assert with_ben["kappa"]["value"] == 1 and with_ben["bias"]["value"] == 0


def test_without_a_name_the_person_is_that_of_the_file(tmp_path):
    table = tmp_path / "ana.jsonl"
    lines = [{"question": f"Q{n}", "answer": "a", "judge": n % 3, "score": n % 2} for n in range(10)]
    table.write_text("".join(json.dumps(line) + "\n" for line in lines))
    siq("judge", "check", table, "--output", tmp_path / "check.json")
    (record,) = json.loads((tmp_path / "check.json").read_text())["raters"]
    assert (record["a"], record["b"]) == ("judge", "ana")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("question,answer,score\nQ,a,1\n", "no column 'judge'"),
        (HEAD + "Q,a,good,1,ana\n", "row 1: judge is 'good', not a number"),
        (HEAD + "Q,a,1,,ana\n", "row 1: score is '', not a number"),
        (HEAD + "Q,a,1,1,ana\nQ,a,1,2,ana\n", "row 2: 'ana' scored this answer in an earlier row"),
        (HEAD + "Q,a,1,1,ana\nQ,a,2,1,ben\n", "row 2: the judge gave 2 here and 1 in another row of this answer"),
        (HEAD + "Q,a,1,1,judge\n", "row 1: person is 'judge'"),
        (HEAD + "Q,a,1,1,ana\n", "1 answers; score at least 10"),
        (
            HEAD + rows(("ana", 0), count=9) + THREE,
            "no two of them scored the same 10 answers",
        ),
    ],
)
def test_what_is_wrong_in_a_table_is_said(tmp_path, text, error):
    table = tmp_path / "ratings.csv"
    table.write_text(text)
    assert error in refusal("judge", "check", table)
