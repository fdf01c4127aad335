"""Counting made-up answers, and showing them."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.api import rank
from speechiq.reducer.scores.suites import Confirmed, read_answers
from speechiq.reducer.studies.unanswerable import confirm, find_unanswerable, write_review, write_set
from speechiq.reducer.studies.unanswerable import count_hallucinations as count
from tests.commands import as_json, refusal, siq, succeed
from tests.records import edit_rows
from tests.reducer.conftest import write_answers

QUESTIONS = [f"q{number:02}" for number in range(17)]
HOSTILE = "=cmd|'/c calc'!A0"
CONTROL = "@letter:B"


def letters(made_up: int, unparsed: int = 0) -> dict[str, str]:
    """Answers to 17 questions: some made up, some unparsed, the others (E)."""
    votes = ["B"] * made_up + ["?"] * unparsed + ["E"] * (len(QUESTIONS) - made_up - unparsed)
    return {question: 5 * letter for question, letter in zip(QUESTIONS, votes, strict=True)}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    write_answers(folder / "qwen", "whisper+qwen", letters(2, unparsed=1), clips=17)
    write_answers(folder / "desta", HOSTILE, letters(12), clips=17)
    write_answers(folder / "letter", "letter:B", letters(17), clips=17, kind="control", control=CONTROL)
    return folder


def frozen_set(runs: Path, path: Path, wrong_key: int = 0) -> Path:
    rows = find_unanswerable(read_answers([runs]))
    for number, row in enumerate(rows):
        row["verdict"] = "wrong_key" if number < wrong_key else "unanswerable"
    write_review(rows, path.with_suffix(".jsonl"))
    write_set(confirm(path.with_suffix(".jsonl")), path)
    return path


def test_questions_of_a_clip_are_one_unit(tmp_path):
    """Answers to questions of one clip may depend on each other, so that two clips say less than 17."""
    widths = []
    for clips in (1, 2, 17):
        runs = tmp_path / str(clips)
        write_answers(runs, "a", dict.fromkeys(QUESTIONS, "EEEEE"), clips=clips)
        confirmed = frozen_set(runs, runs / "set.json")
        (row,) = as_json("study", "unanswerable", runs, "--set", confirmed)["systems"]
        assert row["rate"]["low"] == 0.0
        widths.append(row["rate"]["high"])
    assert widths == pytest.approx([0.793, 0.658, 0.184], abs=1e-3), "Wilson's interval of 0 of 1, of 2 and of 17"


def test_counts_as_in_table_4(runs, tmp_path):
    files = tmp_path / "h.json", tmp_path / "h.csv"
    done = succeed(
        "study", "unanswerable", runs, "--set", frozen_set(runs, tmp_path / "set.json"), "-o", files[0], "-o", files[1]
    )
    assert "17 unanswerable questions" in done.stdout and "3.3 to 34.3" in done.stdout and HOSTILE in done.stdout
    counts = json.loads(files[0].read_text())["systems"]
    numbers = ("hallucinated", "none_of_the_above", "unparsed")
    assert [(of["system"], of["control"], *(of[number] for number in numbers)) for of in counts] == [
        ("whisper+qwen", "", 2, 14, 1),
        (HOSTILE, "", 12, 5, 0),
        ("letter:B", CONTROL, 17, 0, 0),
    ]
    assert counts[0]["rate"]["value"] == 2 / 17 and counts[2]["rate"]["high"] == 1.0
    rows = list(csv.DictReader(files[1].read_text().splitlines()))
    assert rows[1]["system"] == f"'{HOSTILE}" and float(rows[1]["rate"]) == 12 / 17
    assert rows[2]["control"] == f"'{CONTROL}"
    assert {*rows[0]} >= {*counts[0], "rate_low", "rate_high"}


def score_votes(row: dict) -> None:
    """Give a row the columns that Apply computes of its letters, and let it have the right answer C."""
    vote, letters = row["filtered_resps"][0]
    row |= {"none_of_the_above": float(vote == "E"), "unparsed": letters.count("?") / len(letters)}


@pytest.fixture
def scored(runs, tmp_path) -> tuple[Path, Path]:
    """Return the runs with one more question, which has an answer, and the set of the others."""
    chosen = frozen_set(runs, tmp_path / "set.json", wrong_key=3)
    for name, system in (("qwen", "whisper+qwen"), ("desta", HOSTILE), ("letter", "letter:B")):
        control = {"kind": "control", "control": CONTROL} if name == "letter" else {}
        write_answers(runs / name, system, {"sound": "AAAAB"}, tasks="more", date=2.0, **control)
    edit_rows(runs, score_votes)
    return runs, chosen


def test_the_main_table_has_the_rates_of_the_study(scored, tmp_path):
    runs, chosen = scored
    counted = {row["system"]: row for row in as_json("study", "unanswerable", runs, "--set", chosen)["systems"]}
    files = [tmp_path / f"scores.{ending}" for ending in ("json", "csv", "md", "tex", "html")]
    outputs = [part for file in files for part in ("-o", file)]
    done = succeed("score", runs, "--exclude", chosen, *outputs, "-o", tmp_path / "harness", "--explain")
    scores = {row["system"]: row for row in json.loads(files[0].read_text())["systems"]}
    table = {row["system"].removeprefix("'"): row for row in csv.DictReader(files[1].read_text().splitlines())}
    assert {*scores} == {*counted} == {*table}
    for name, row in counted.items():
        rate, found = row["rate"], scores[name]["hallucination"]
        assert (found["hallucinated"], found["asked"], found["rate"]) == (row["hallucinated"], 14, rate["value"])
        assert found["interval"] == [rate["low"], rate["high"]]
        assert float(table[name]["hallucination_rate"]) == rate["value"]
        assert float(table[name]["hallucination_high"]) == rate["high"]
    assert scores["whisper+qwen"]["categories"]["apply"]["score"] == 1.0, "the set is left out of Apply"
    for text in (done.stdout, *(file.read_text() for file in files[2:])):
        assert "Hallucination" in text and "14 of 14" in text and "9 of 14" in text
    assert "share of the left-out questions without an answer" in " ".join(done.stdout.split())
    groups = [json.loads(file.read_text())["groups"]["siq"] for file in tmp_path.glob("harness/*/results_*.json")]
    assert {group["hallucination,none"] for group in groups} == {row["rate"]["value"] for row in counted.values()}


def test_the_rank_does_not_depend_on_hallucination(scored):
    runs, chosen = scored
    ranked = [rank([runs], exclude=exclude, draws=0).to_frame() for exclude in (None, chosen)]
    assert "hallucination" not in ranked[0] and ranked[1].loc["letter:B", "hallucination"] == 1.0
    assert ranked[1].loc["whisper+qwen", ["hallucination_low", "hallucination_high"]].between(0, 0.3).all()
    assert [*ranked[1].index] == [*sorted([HOSTILE, "whisper+qwen"]), "letter:B"], "equal on Apply, so by name"


def test_rows_without_the_votes_have_no_rate(scored):
    runs, chosen = scored
    edit_rows(runs / "qwen", lambda row: {name: row[name] for name in row if name != "none_of_the_above"})
    frame = rank([runs], exclude=chosen, draws=0).to_frame()
    assert math.isnan(frame.loc["whisper+qwen", "hallucination"]) and frame.loc[HOSTILE, "hallucination"] > 0


def test_a_set_of_wrong_keys_alone_gives_no_column(scored, tmp_path):
    runs, _ = scored
    chosen = frozen_set(runs, tmp_path / "keys.json", wrong_key=17)
    assert "Hallucination" not in siq("score", runs, "--exclude", chosen)


def test_a_set_that_does_not_fit_the_runs(tmp_path):
    write_answers(tmp_path / "runs", "s", letters(2))
    path = frozen_set(tmp_path / "runs", tmp_path / "set.json")
    other = tmp_path / "other"
    write_answers(other, "s", {"q03": "AAAAA", "q99": "AAAAA"})
    refused = refusal("study", "unanswerable", other, "--set", path)
    assert refused.startswith("16 of 17 questions of the set are not in the runs, such as clip 'clip' question 'q00'")
    answers = read_answers([other])
    with pytest.raises(
        SpeechIQError, match="1 of 1 questions have another wording in the runs than in the set, such as clip"
    ):
        count(answers, {("clip", "q03"): Confirmed("another wording", "unanswerable")})
    with pytest.raises(SpeechIQError, match="no question with the verdict 'unanswerable'"):
        count(answers, {("clip", "q03"): Confirmed("", "wrong_key")})
