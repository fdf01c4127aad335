"""Test recognizers behind `/v1/audio/transcriptions` over real HTTP: requests, and errors for faults of servers."""

import io
import json
import math

import numpy as np
import pytest
import soundfile

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt
from speechiq.core.usage import usage
from speechiq.engines.asr.openai import OpenAIASR
from tests.conftest import KEY
from tests.engines.opener import build, open_engine
from tests.records import texts
from tests.siq_tasks.questions.server import serving

pytestmark = pytest.mark.usefixtures("endpoint_key")

LLM = "demo:SmolLM2-135M-Instruct"


@pytest.fixture(scope="module")
def clip(demo_clips):
    return demo_clips[0].part(0.0, 2.5)


def open_asr(url, **options):
    return open_engine(OpenAIASR, "scribe", prefix="asr_", **{"base_url": url, "max_retries": 1} | options)


def seconds(flac: bytes) -> float:
    return soundfile.info(io.BytesIO(flac)).duration


def test_a_clip_goes_out_whole_as_16_bit_flac(clip):
    before = usage["calls"]
    with serving(lambda *_: " so it was said \n") as server:
        (transcript,) = open_asr(server.url, prompt="Havel").transcribe([clip])
        (asked,) = server.requests
    assert transcript.text == "so it was said" and math.isnan(transcript.coverage) and transcript.hypotheses == ()
    samples, rate = soundfile.read(io.BytesIO(asked.pop("file")), dtype="float32")
    np.testing.assert_allclose(samples, clip.samples, atol=2**-15)
    assert asked == {"model": "scribe", "language": "en", "temperature": "0", "prompt": "Havel"}
    assert rate == 16_000 and usage["calls"] == before + 1


def test_transcripts_are_in_the_order_of_the_clips_and_silence_is_none(clip):
    clips = [clip.part(0.0, n / 4) for n in range(1, 7)]
    with serving(lambda flac, _: "" if seconds(flac) > 1.4 else f"{seconds(flac)}") as server:
        transcripts = open_asr(server.url, num_concurrent=3).transcribe(clips)
    assert texts(transcripts) == ["0.25", "0.5", "0.75", "1.0", "1.25", ""]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((413, {}, '{"error": {"message": "too large, {key}"}}'), r"too large.*\*\*\*.*asr_max_audio_s=SECONDS"),
        ((404, {}, "no such page"), "answered 404, .*; check asr_base_url and the model's name"),
        ((200, {}, '{"words": []}'), "sent no transcription"),
        ((200, {}, '{"text": ["B"]}'), r"sent no transcription \(text is a list\)"),
        ((200, {"Retry-After-Ms": "5"}, '{"text": null}'), "sent a transcription without text"),
    ],
)
def test_what_fails_for_good_is_one_line_and_never_an_empty_transcript(clip, reply, message):
    with serving(lambda *_: reply) as server, pytest.raises(SpeechIQError, match=message) as caught:
        open_asr(server.url).transcribe([clip])
    assert str(caught.value).startswith("openai:scribe at 127.0.0.1: ") and KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("openai:scribe", {"asr_base_url": "http://127.0.0.1:9", "asr_max_retries": 0}, "no connection; check asr_b"),
        ("openai:scribe", {"asr_timeout": -1}, "asr_timeout=-1: not a number"),
        ("openai:scribe", {"asr_key_variable": "NO_KEY"}, "no key; set the environment variable NO_KEY$"),
        ("openai:", {}, "system openai: no model"),
        ("openai:scribe", {"asr_nbest": 5}, "asr_nbest: no such option of the openai engine"),
    ],
)
def test_what_cannot_run_is_named_before_anything_runs(demo_models, spec, options, message):
    with pytest.raises(SpeechIQError, match=message):
        build(f"{spec}+{LLM}", **options)


def test_a_cascade_records_its_endpoint_and_not_its_key(demo_models, clip):
    with serving(lambda *_: "hello") as server:
        system = build(f"openai:scribe+{LLM}", asr_base_url=server.url)
        asked = [Prompt.about("", [clip])] * 2
        assert texts(system.transcribe(asked)) == ["hello", "hello"] and len(server.requests) == 1
        described = system.describe()
    assert described["asr"]["base_url"] == server.url and KEY not in json.dumps(described)
