"""Clips, prompts and responses are values: frozen, equal by content, and whole after every journey."""

import copy
import json
import math
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, TextPrompt
from speechiq.core.response import CarryingText, Response, drop_reasoning, response_of, reword
from speechiq.metrics import choice
from speechiq.metrics.words import wer
from tests.records import named

CLIP = named("a")
PROMPT = Prompt.about("Here: <audio> What?", [CLIP])
RESPONSE = Response("so it goes", coverage=0.5, hypotheses=("so it goes", "so it grows"), provenance="clean")
RECORDS = [CLIP, CLIP.source, PROMPT, TextPrompt("Why?", 3, "a"), RESPONSE]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_is_frozen_hashable_and_survives_a_gather(record):
    with pytest.raises(FrozenInstanceError):
        setattr(record, fields(record)[0].name, None)
    for same in (pickle.loads(pickle.dumps(record)), copy.deepcopy(record)):
        assert same == record and hash(same) == hash(record)


def test_the_text_that_lm_eval_gets_carries_its_response_everywhere():
    text = CarryingText(RESPONSE)
    for same in (text, pickle.loads(pickle.dumps(text)), copy.copy(text), copy.deepcopy([text])[0]):
        assert same == "so it goes" and response_of(same) == RESPONSE
    assert json.dumps([text]) == '["so it goes"]'
    assert response_of(reword(text, "so")) == replace(RESPONSE, text="so")


def test_a_text_of_another_model_type_has_a_response_of_which_nothing_is_known():
    response = response_of("plain")
    assert response.text == "plain" and math.isnan(response.coverage) and response.hypotheses == ()
    assert type(reword("plain", "B")) is str


def test_metrics_read_the_response_behind_a_text():
    scores = wer.score({"text": "so it goes"}, [CarryingText(RESPONSE)])
    assert (scores["audio_coverage"], scores["wer_first"], scores["wer_oracle"]) == (0.5, 0, 0)
    doc = {"options": ["one", "two", "three", "four"], "answer": "B"}
    (voted,) = choice.Vote().apply([[CarryingText(replace(RESPONSE, text="(B)"))] * 5], [doc])
    assert json.dumps(voted) == '["B", ["B", "B", "B", "B", "B"]]'
    assert choice.score(doc, [voted])["audio_coverage"] == 0.5


def test_half_a_surrogate_pair_is_in_no_response():
    found = Response("a\ud83d", hypotheses=("b\ud83d",))
    assert (found.text, found.hypotheses) == ("a\N{REPLACEMENT CHARACTER}", ("b\N{REPLACEMENT CHARACTER}",))


@pytest.mark.parametrize(
    ("text", "clips", "content"),
    [
        ("Here: <audio> What?", "a", ("Here: ", "a", " What?")),
        ("<audio><audio>", "ab", ("a", "b")),
        ("What?", "ab", ("a", "\n", "b", "\nWhat?")),
        ("One <audio> is enough.", "ab", ("a", "\nOne ", "b", " is enough.")),
        ("The word <audio>.", "", ("The word <audio>.",)),
        ("", "", ()),
    ],
)
def test_every_clip_has_its_place_in_the_words(text, clips, content):
    prompt = Prompt.about(text, list(map(named, clips)))
    assert tuple(part if isinstance(part, str) else part.id for part in prompt.content) == content
    assert prompt.text == "<audio>\n" * (len(clips) - text.count("<audio>")) + text
    assert prompt.key == [prompt.text, *(named(name).key for name in clips)]


def test_a_transcript_is_of_one_clip():
    assert PROMPT.clip is CLIP
    with pytest.raises(SpeechIQError, match=r"^the prompt about a, b: has 2 clips; give one clip per transcript$"):
        _ = Prompt.about("", [CLIP, named("b")]).clip


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("<think>Or A?</think>\n(B)", "(B)"),
        ("<thinking>Or A?</thinking>(B)", "(B)"),
        ("[THINK]Or A?[/THINK](B)", "(B)"),
        ("◁think▷Or A?◁/think▷(B)", "(B)"),
        ("<seed:think>Or A?</seed:think>(B)", "(B)"),
        ("<thought>Or A?</thought>(B)", "(B)"),
        ("<REASONING>Or A?</REASONING> (B)", "(B)"),
        ("<|begin_of_thought|>Or A?<|end_of_thought|>(B)", "(B)"),
        ("<|channel|>analysis<|message|>Or A?<|end|><|start|>assistant<|channel|>final<|message|>(B)<|return|>", "(B)"),
        ("<|channel>thought\nOr A?<channel|>(B)", "(B)"),
        ("analysisThey say A or B.assistantfinal(B)", "(B)"),
        ("<think>One.</think>Or <think>A?</think>(B)", "Or (B)"),
        ("<think><reasoning>Or A?</reasoning>No.</think>(B)", "(B)"),
        ("Or A?</think>(B)", "(B)"),
        ("<think>Or A? <answer>(B)</answer>", "<answer>(B)</answer>"),
        ("(B) <reasoning>The speaker", "(B)"),
        ("<think>Or A", ""),
        ("<Reasoning>The answer is B because", ""),
        ("<|channel|>analysis<|message|>The answer is B", ""),
        ("analysisThe answer is B", ""),
        ("I think of analysis. ", "I think of analysis. "),
        ("Analysis: (B) <answer>B</answer>", "Analysis: (B) <answer>B</answer>"),
    ],
)
def test_reasoning_is_dropped_in_the_forms_in_which_models_mark_it(answer, left):
    assert drop_reasoning(answer) == left
