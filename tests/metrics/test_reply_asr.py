"""Test several transcripts of a spoken reply: loops, rounds with own seeds, and recognizers that do not sample."""

import math

import numpy as np
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.response import CarryingText, Response
from speechiq.engines._shared.speech import as_speech
from speechiq.metrics import reply
from speechiq.metrics.reply_asr import has_loop
from tests.siq_tasks.questions.server import serving

pytestmark = pytest.mark.usefixtures("endpoint_key")

LOOP = "Thank you. Thank you. Thank you."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LOOP, True),
        ("Right. THANK YOU! Thank you? thank you. Bye.", True),
        ("Thank you. Thank you.", False),
        ("Thank you. Well. Thank you. Thank you.", False),
        ("No. No. No. No.", False),
        ("we have we have we have", False),
        ("", False),
    ],
)
def test_a_loop_is_one_sentence_three_times_in_a_row(text, expected):
    assert has_loop(text) == expected


def speak():
    return as_speech(0.1 * np.random.default_rng(0).standard_normal(8_000), 16_000, "")


def transcribe(server, *replies, **options):
    """Return the docs and items of replies that a scripted endpoint transcribes, each judged by its keywords."""
    given = {"reply_asr": "openai:scribe", "speech_quality": "off", "reply_asr_base_url": server.url}
    given |= {f"reply_asr_{name}": value for name, value in options.items()}
    settings = reply.read_settings(given)
    docs = [{"id": f"a/{i}", "question": "Why?", "keywords": ["cars"], **settings} for i in range(len(replies))]
    return docs, reply.Reply().apply([CarryingText(each) for each in replies], docs)


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))


def test_texts_with_a_loop_are_dropped_and_each_of_the_others_is_judged():
    texts = [LOOP, "Red cars.", "Read cards.", "Cars.", "never asked"]
    spoken = Response("Red cars.", speak())
    with serving(lambda _, number: texts[number - 1]) as server:
        docs, (item,) = transcribe(server, spoken, temperature=0.4, rounds=3)
        assert [int(asked.get("seed", 0)) for asked in server.requests] == [0, 1, 2, 3]
        assert {asked["temperature"] for asked in server.requests} == {"0.4"}
        transcribe(server, spoken, temperature=0.4, rounds=3)
        assert len(server.requests) == 4
    assert item["transcripts"] == texts[1:4] and item["answer"] == "Red cars." and item["scores"] == [10.0, 1.0, 10.0]
    row = reply.score(docs[0], [item])
    assert row["judge_points"] == 7.0 and row["speech_gap"] == -3.0 and row["speech_text_wer"] == 0.0
    assert docs[0]["reply_asr_rounds"] == docs[0]["reply"]["rounds"] == 3
    cases = reply.stored_cases(docs[0], item)
    assert [case.answer for case in cases] == ["Red cars.", "Read cards.", "Cars.", "Red cars."]
    again = reply.renew(item, reply.judge_cases(cases, reply.judging_of(docs[0])))
    assert again["scores"] == item["scores"] and again["scores_written"] == [10.0]


def test_if_every_text_has_a_loop_the_first_ones_count_after_ten_rounds():
    with serving(lambda *_: LOOP) as server:
        _, (item,) = transcribe(server, Response("", speak()), temperature=0.4, rounds=2)
        assert len(server.requests) == 10
    assert item["transcripts"] == [LOOP, LOOP]


def test_a_recognizer_that_does_not_sample_makes_one_round_and_says_so(capsys):
    with serving(lambda *_: LOOP) as server:
        _, (item,) = transcribe(server, Response("", speak()), rounds=3)
        transcribe(server, Response("", speak()), rounds=3)
        assert len(server.requests) == 1
    assert "transcripts" not in item and item["answer"] == LOOP and item["scores"] == [1.0]
    said = capsys.readouterr().err
    assert said.count("reply_asr_rounds=3: openai:scribe writes the same text each time") == 1


def test_silence_and_writing_have_one_text_in_every_number_of_rounds():
    silent = as_speech(np.full(8_000, math.nan), 16_000, "")
    with serving(lambda *_: "never asked") as server:
        _, items = transcribe(server, Response("cars", silent), Response("cars"), temperature=0.4, rounds=3)
        assert not server.requests
    assert [item["answer"] for item in items] == ["", "cars"] and not any("transcripts" in item for item in items)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "reply_asr_rounds=0: not a whole number from 1 to 10"),
        ({"rounds": 11}, "reply_asr_rounds=11: not a whole number from 1 to 10"),
        ({"round": 3}, "reply_asr_round: no such option of the openai engine"),
        ({"temperature": 2}, "reply_asr_temperature=2: not a number from 0 to 1"),
        ({"seed": 3}, "reply_asr_seed=3: nothing is sampled; give reply_asr_temperature too, or leave it out"),
    ],
)
def test_settings_of_rounds_that_cannot_work_are_refused(options, message):
    with serving(lambda *_: "") as server, pytest.raises(SpeechIQError) as refused:
        transcribe(server, Response(""), **options)
    assert str(refused.value).startswith(message) and "\n" not in str(refused.value)
