"""`--metadata reader=MODEL`: a language model reads the answers to options from which the rules read no letter."""

import json
import math

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.choice import Vote, score
from speechiq.metrics.judge.free_answers import renew
from speechiq.metrics.judge.judging import Judgment
from speechiq.metrics.judge.reader import read_letters, read_settings
from speechiq.reducer.runs.conditions import compare_conditions, read_conditions
from speechiq.reducer.runs.tasks import find_tasks
from speechiq.reducer.scores.suites import read_answers
from tests import runs
from tests.commands import siq
from tests.siq_tasks.questions.server import serving

TASK = "audiobench_demo_choice"
#: Words of a question -> the system's answer to it, and what the model reads from that; other answers are `A`.
ANSWERS = {
    "Is revenue higher": ("Revenue went up against last year.", "A"),
    "In which month": ("It pauses when the year begins.", "Answer: C"),
    "From which industry": ("I could not hear it.", "None."),
    "Where is the podcast": ("The studio of a city.", "Somewhere in Ireland, I suppose."),
}


def script(prompt, _number):
    """Answer as a system, or read as a reader, which reads B from every answer that is one letter."""
    said, read = next((each for words, each in ANSWERS.items() if words in prompt), ("A", "B"))
    return read if "<answer>" in prompt else said


@pytest.fixture
def evaluate(tmp_path, monkeypatch, endpoint_key, tiny_cascade):
    """Return a function that runs the demo's choices, by a system and a reader behind one server."""
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))

    def run(server, name="run", task=TASK, limit=None, **metadata):
        system = {"pretrained": f"{tiny_cascade.asr}+openai:system", "llm_base_url": server.url}
        place = tmp_path / name
        found = runs.evaluate("hf-audio", [task], output=place, model_args=system, metadata=metadata, limit=limit)
        return found, runs.read_rows(place)

    return run


def test_a_model_reads_what_the_rules_leave_unread(evaluate, tmp_path, capsys):
    with serving(script) as server:
        _, ruled = evaluate(server, "without")
        asked = len(server.requests)
        metadata = {"reader": "openai:reader", "reader_base_url": server.url}
        found, rows = evaluate(server, "with", **metadata)
        assert [request["model"] for request in server.requests[asked:]] == ["reader"] * len(rows)
        assert "reader openai:reader: " in capsys.readouterr().err
        asked = len(server.requests)
        evaluate(server, "again", **metadata)
        assert len(server.requests) == asked
    assert sum(row["unparsed"] for row in ruled) == len(ANSWERS)
    assert not any("read" in name for name in (*ruled[0], *ruled[0]["doc"], *json.loads(ruled[0]["filtered_resps"][0])))
    by_question = {row["doc"]["question"]: row for row in rows}
    read = [row for words in ANSWERS for question, row in by_question.items() if question.startswith(words)]
    assert [row["read_by_model"] for row in read] == [1, 1, 0, 0]
    assert [row["unparsed"] for row in read] == [0, 0, 1, 1]
    assert [row["acc"] for row in read] == [1, 1, 0, 0]
    assert [row["acc_guess"] for row in read] == [1, 1, 1 / 5, 1 / 6]
    assert all(math.isnan(row["reader_agrees"]) for row in read)
    others = [row for row in rows if row not in read]
    assert all(row["read_by_model"] == row["reader_agrees"] == 0 for row in others)
    by_rule = {row["doc"]["question"]: row["acc"] for row in ruled}
    assert all(row["acc"] == by_rule[row["doc"]["question"]] for row in others)
    recorded = found["configs"][TASK]["metadata"]
    assert recorded["reader"] == "openai:reader" and len(recorded["reader_identity"]) > 8
    table = " ".join(siq("score", tmp_path / "with", "--explain").split())
    items = f"({len(others)} items); {200 / len(rows):.1f} % of all answers are read by it alone"
    assert f"reader openai:reader agrees with the rules on 0.0 % of the answers that both read {items}" in table
    assert "reader" not in siq("score", tmp_path / "without", "--explain")
    (with_reader,), (plain,) = (find_tasks([tmp_path / name])[0] for name in ("with", "without"))
    (mismatch,) = compare_conditions("a", "choice", [read_conditions(with_reader)], "b", [read_conditions(plain)])
    assert "reader is 'openai:reader, " in mismatch.text and " and none in b" in mismatch.text


def answer_by_words(prompt, number):
    """Answer in words that no rule reads; read A, the first option."""
    return "A" if "<answer>" in prompt else f"Hard to say, I only heard {number} words."


@pytest.mark.parametrize("task", ["siq_demo_apply", "audiobench_demo_gender"])
def test_a_model_reads_votes_and_labels_too(evaluate, task, tmp_path):
    with serving(answer_by_words) as server:
        metadata = {"reader": "openai:reader", "reader_base_url": server.url}
        found, rows = evaluate(server, "run", task, 2, **metadata)
    assert found["configs"][task]["metadata"]["reader"] == "openai:reader"
    assert [(row["read_by_model"], row["unparsed"]) for row in rows] == [(1, 0)] * 2
    table = siq("score", tmp_path / "run", "--explain", "--bootstrap", 0)
    assert "100.0 % of all answers are read by it alone" in " ".join(table.split())
    if task == "siq_demo_apply":
        answers = read_answers([tmp_path / "run"])
        assert {vote.letters for votes in answers.votes.values() for vote in votes.values()} == {"AAAAA"}


def test_the_letter_of_a_reader_counts_where_the_rules_read_none(tmp_path, monkeypatch, endpoint_key):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    with serving(lambda prompt, _: "E" if "Nothing fits" in prompt else "B") as server:
        doc = DOC | {"options": ["today", "never", "soon", "late"], "answer": "B"}
        doc |= read_settings({"reader": "openai:m", "reader_base_url": server.url})
        answers = ["(A)", "Not at any time.", "Nothing fits.", "Never ever.", ""]
        (voted,) = Vote().apply([answers], [doc])
        assert voted == ["B", ["A", "B", "E", "B", "?"], ["A", "?", "?", "B", "?"], ["B", "B", "E", "B", "?"]]
        shown = server.requests[0]["messages"][0]["content"]
        assert "(E) None of the above" in shown
    scores = score(doc, [voted])
    assert scores["unparsed"] == 0.2 and scores["read_by_model"] == 0.4 and scores["reader_agrees"] == 0.5
    assert "read_by_model" not in score(doc, [voted[:2]])


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"reader": "silence:x"}, r"reader=silence:x: silence is an engine for speech \(asr\), a reader reads text"),
        ({"reader": "opnai:x"}, "reader=opnai:x: unknown engine; did you mean openai"),
        ({"reader": "hf:demo:no-such-model"}, "no-such-model"),
        ({"reader": "exact_match"}, "reader=exact_match: not of the form ENGINE:MODEL; write openai:MODEL or hf:MODEL"),
        ({"reader": 5}, "reader=5: not of the form"),
        (
            {"reader": "openai:m", "reader_max_gen_tok": 5},
            "no such option of a reader; did you mean reader_max_gen_toks",
        ),
        ({"reader": "openai:m", "reader_max_gen_toks": 0}, "reader_max_gen_toks=0: not a whole number of 1 or more"),
        ({"reader_base_url": "http://127.0.0.1:9/v1"}, "an option of a reader, and none is named; add reader=openai"),
    ],
)
def test_a_reader_that_cannot_work_is_refused(metadata, message, endpoint_key):
    with pytest.raises(SpeechIQError, match=message):
        read_settings(metadata)


def test_a_reader_is_refused_before_the_system_runs(evaluate):
    with serving(script) as server:
        with pytest.raises(SpeechIQError, match="unknown engine"):
            evaluate(server, reader="opnai:x")
        assert not server.requests


DOC = {"id": "1", "question": "When?", "options": ["today", "never", "None of them"]}


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B", "B"),
        ("(b)", "B"),
        ("It says so.\nAnswer: **C**", "C"),
        ("<think>A? No.</think>\nB", "B"),
        ("none", "?"),
        ("The answer names (A) and (B).\nNone.", "?"),
        ("never", "?"),
        ("D", "?"),
        ("", "?"),
        ((400, {}, "{}"), "?"),
    ],
)
def test_a_reply_that_is_no_letter_of_the_question_stays_unread(reply, letter, tmp_path, monkeypatch, endpoint_key):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    with serving(lambda prompt, _: reply) as server:
        doc = DOC | read_settings({"reader": "openai:m", "reader_base_url": server.url, "reader_max_gen_toks": 9})
        assert read_letters([doc, doc], ["At some time.", " "], [DOC["options"]] * 2) == [letter, "?"]
        request = server.requests[-1]
        assert "(C) None of them\n" in request["messages"][0]["content"] and 9 in request.values()


def test_stored_answers_that_are_judged_again_keep_what_was_read():
    item = {"answer": "Soon.", "scores": [0.0], "texts": ["no match"], "coverage": None, "read": "B"}
    renewed = renew(item, [Judgment((1.0,), ("match",))])
    assert renewed["read"] == "B" and renewed["scores"] == [1.0]


def test_a_small_model_reads_an_answer(tiny_cascade, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    doc = DOC | read_settings({"reader": f"hf:{tiny_cascade.llm}", "reader_max_gen_toks": 8})
    options = [DOC["options"]] * 2
    letters = read_letters([doc, doc], ["It never happened.", "Today, this very day."], options)
    assert set(letters) <= set("ABC?") and read_letters([doc, doc], ["It never happened.", ""], options)[1] == "?"
