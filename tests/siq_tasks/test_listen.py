"""Variants of questions: what `--metadata listen=` does to the docs of a task, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import Dataset

from speechiq.core.clip import file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.conditions.apply import check_listen, with_condition, with_listen
from speechiq.siq_tasks.conditions.spec import MUTED, SWAPPED, TEXT
from speechiq.siq_tasks.loaders import bundled
from speechiq.siq_tasks.loaders.content import digest_content
from speechiq.siq_tasks.settings import TASK_TYPES
from tests.commands import refusal

TASK = "siq_demo_apply"


@pytest.fixture(scope="module")
def docs():
    return bundled.load(level="apply").docs


def rows(*, question="Which mood?", text="hello", **answers):
    """Return docs of clips with one answer each, all to one question."""
    return Dataset.from_list(
        [
            {
                "id": clip,
                "question_id": clip,
                "question": question,
                "gold": [answer],
                "text": text,
                "audio": {"sha256": clip, "path": f"{clip}.wav", "duration": 1.0},
            }
            for clip, answer in answers.items()
        ]
    )


def test_each_variant_has_a_name_and_a_digest_of_its_own(docs):
    changed = {variant: with_listen(docs, variant, TASK) for variant in (TEXT, MUTED, SWAPPED)}
    assert all({doc["audio"]["listen"] for doc in of} == {variant} for variant, of in changed.items())
    assert len({digest_content(of) for of in (docs, *changed.values())}) == 4
    for of in changed.values():
        assert [doc["question_id"] for doc in of] == [doc["question_id"] for doc in docs]
        assert [doc["answer"] for doc in of] == [doc["answer"] for doc in docs]


def test_text_keeps_the_audio_and_the_reference(docs):
    (doc,) = with_listen(docs.select([0]), "text", TASK)
    assert doc["text"] == docs[0]["text"] and file_clip(doc["audio"]) == file_clip(docs[0]["audio"])


def test_muted_is_silence_of_the_same_length_after_any_condition(docs):
    clean = file_clip(docs[0]["audio"])
    for changed in (docs, with_condition(docs, "white@10dB")):
        heard, muted = (file_clip(of[0]["audio"]) for of in (changed, with_listen(changed, "muted", TASK)))
        assert muted.duration == heard.duration and muted.key != heard.key != clean.key + "|"
        assert len(muted.samples) == len(heard.samples) and not np.any(muted.samples)


def test_swapped_is_another_clip_with_its_reference_the_same_for_all_questions_of_a_clip(docs):
    changed, references = with_listen(docs, "swapped", TASK), {doc["audio"]["sha256"]: doc["text"] for doc in docs}
    sounds = {}
    for before, after in zip(docs, changed, strict=True):
        assert after["audio"]["sha256"] != before["audio"]["sha256"]
        assert after["text"] == references[after["audio"]["sha256"]]
        sounds.setdefault(after["id"], set()).add(after["audio"]["sha256"])
    assert all(len(of) == 1 for of in sounds.values())
    assert len(set().union(*sounds.values())) == len(sounds)


def test_swapped_depends_on_ids_and_not_on_the_order_of_docs(docs):
    def swaps(of):
        return {doc["question_id"]: doc["audio"]["sha256"] for doc in with_listen(of, "swapped", TASK)}

    assert swaps(docs) == swaps(docs.select(range(len(docs) - 1, -1, -1)))


def test_a_swapped_clip_has_another_answer():
    answers = {"a": "joy", "b": "joy", "c": "anger", "d": "joy", "e": "fear"}
    for doc in with_listen(rows(**answers), "swapped", TASK):
        assert answers[doc["audio"]["sha256"]] != answers[doc["id"]]


def test_options_answer_by_their_text_and_not_by_their_letter():
    docs = rows(a="A", b="B", c="A")
    options = [["yes", "no"], ["no", "yes"], ["no", "yes"]]
    docs = Dataset.from_list([doc | {"options": of} for doc, of in zip(docs, options, strict=True)])
    swapped = [doc["audio"]["sha256"] for doc in with_listen(docs, "swapped", TASK)]
    assert swapped == ["c", "c", swapped[2]] and swapped[2] in ("a", "b")


@pytest.mark.parametrize(
    ("docs", "variant", "message"),
    [
        (rows(a="joy"), "swapped", "listen=swapped: task T has one clip, and none to swap it with; take a larger"),
        (rows(a="joy", b="Joy "), "swapped", "T has no clip with another answer than 'joy' of a; take a larger subset"),
        (rows(a="joy", text=" "), "text", "listen=text: clip a of task T has no reference text; name the column"),
        (rows(a="joy", text=None), "text", "clip a of task T has no reference text"),
    ],
)
def test_a_set_that_does_not_allow_a_variant_is_refused_in_one_line(docs, variant, message):
    with pytest.raises(SpeechIQError, match=message) as refused:
        with_listen(docs, variant, "T")
    assert str(refused.value).startswith(f"--metadata listen={variant}: ") and "\n" not in str(refused.value)


def test_tasks_that_ask_something_are_all_but_those_that_want_a_transcript():
    silent = {name for name, task_type in TASK_TYPES.items() if not task_type.asks_question}
    assert silent == {"remember", "understand", "distance", "transcribe"}
    for name in silent:
        with pytest.raises(SpeechIQError, match=r"listen=muted: task T asks no question .*; name tasks with questions"):
            check_listen("T", {"task_type": name, "listen": "muted"})


def test_siq_eval_refuses_an_unknown_variant_before_it_reads_anything(tmp_path):
    message = refusal("eval", "demo", "--metadata", "demo.listen=silent", "-o", tmp_path / "runs")
    assert message == "listen=silent: unknown; give muted or swapped or text"
