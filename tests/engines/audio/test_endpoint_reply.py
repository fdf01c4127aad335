"""Test audio models that answer aloud behind an endpoint, over real HTTP with real speech."""

import base64
import json
import shutil

import numpy as np
import pytest

from speechiq.core.clip import file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt
from speechiq.core.recordings.audio_file import encode_audio
from speechiq.core.usage import recording, usage
from speechiq.engines._shared.speech import SHORTEST_S, as_speech
from speechiq.engines.audio.openai import EndpointReply
from speechiq.engines.speech.program import Flite
from speechiq.harness_patch.systems.answering import REPLY, Question
from speechiq.siq_tasks.loaders.bundled import list_clips
from tests.conftest import KEY
from tests.core.recordings import OPEN_END
from tests.engines.opener import build, open_engine
from tests.siq_tasks.questions.server import completion, events, serving

pytestmark = pytest.mark.usefixtures("endpoint_key")

SAMPLED = {"do_sample": True, "temperature": 0.7, "max_gen_toks": 64, "until": []}


def open_model(url, model="talks", **options):
    return open_engine(EndpointReply, model, prefix="speaks_", **{"base_url": url, "max_retries": 0} | options)


@pytest.fixture(scope="module")
def spoken():
    """Return what a server sends that says "Good evening." by a real voice."""
    if shutil.which("flite") is None:
        pytest.skip("flite is not installed")
    (clip,) = open_engine(Flite, "slt").speak(["Good evening."], [0])
    return clip, say(encode_audio([clip.samples], "WAV"))


def say(audio, transcript="Good evening.", **more):
    content = {"id": "a", "expires_at": 0, "data": base64.b64encode(audio).decode(), "transcript": transcript}
    return 200, {}, completion([None], audio=content, **more)


def ask(number=1):
    return [Prompt.about("<audio>", [file_clip(clip)]) for clip in list_clips("wildspeech/demo")[:number]]


def test_a_query_is_answered_aloud(spoken):
    clip, reply = spoken
    with serving(lambda *_: reply) as server:
        model = open_model(server.url, voice="verse", max_audio_s=30, max_tokens=2000)
        ((first, second),) = model.reply(ask(), [[3, 4]], SAMPLED)
    assert (first.text, first.audio, first.coverage) == ("Good evening.", clip, 1.0) and second == first
    sent = server.requests[0]
    assert [part["type"] for part in sent.pop("messages")[0]["content"]] == ["input_audio"]
    assert sent == {
        "model": "talks", "modalities": ["text", "audio"], "audio": {"voice": "verse", "format": "wav"},
        "max_completion_tokens": 2000, "temperature": 0.7, "seed": 3,
    }  # fmt: skip
    assert server.requests[1]["seed"] == 4 and KEY not in json.dumps(model.identity())
    assert (model.identity()["stage"], model.describe()["audio"]["voice"]) == ("reply", "verse")


def test_without_a_limit_of_its_own_that_of_the_text_is_not_sent(spoken):
    with serving(lambda *_: spoken[1]) as server:
        open_model(server.url).reply(ask(), [[0]], {"max_gen_toks": 64})
    assert "max_completion_tokens" not in server.requests[0] and server.requests[0]["temperature"] == 0


def test_written_content_precedes_the_transcript_and_a_filter_leaves_silence(spoken):
    _, (status, headers, body) = spoken
    written = body.replace('"content": null', '"content": "Evening!"')
    filtered = completion([None], finish_reason="content_filter")
    with serving(lambda _, number: (status, headers, [written, filtered][number - 1])) as server:
        rows = open_model(server.url, num_concurrent=1).reply(ask(2), [[0], [0]], {})
    (first,), (second,) = rows
    assert first.text == "Evening!" and second.audio.duration == SHORTEST_S and not second.audio.samples.any()


def test_a_stream_that_may_be_cut_off_is_named_once(caplog):
    with serving(lambda *_: say(STREAM)) as server:
        open_model(server.url, model="streams").reply(ask(2), [[0], [0]], {})
    (line,) = [record.getMessage() for record in caplog.records if "doubtful" in record.getMessage()]
    assert line.startswith("openai:streams: a sound of it is doubtful: the file does not give its length")


STREAM = OPEN_END["wav-piped"]()
BAD = {
    "it only writes": ("Good evening.", "wrote a reply without audio, so it does not speak by itself; give speaks="),
    "not base64": (
        (200, {}, completion([None], audio={"data": "~", "transcript": "Hi"})),
        "sent no audio .*; try another speaks_response_format",
    ),
    "not audio": (say(b"<html>"), "sent no audio .*not readable as audio.*; try another speaks_response_format"),
    "no text": (say(STREAM, transcript=""), r"sent speech without its text \(no content and no transcript\); try ano"),
    "one sample": (say(STREAM[:46]), r"openai:talks: sent no speech \(its audio has 6.25e-05 s\); try another model"),
    "no such modality": ((400, {}, '{"error": {"message": "no audio output"}}'), "answered 400, .*no audio output"),
}


@pytest.mark.parametrize(("reply", "message"), BAD.values(), ids=BAD)
def test_a_model_that_does_not_speak_is_one_line(reply, message):
    with serving(lambda *_: reply) as server, pytest.raises(SpeechIQError, match=message) as caught:
        open_model(server.url).reply(ask(), [[0]], {})
    assert "\n" not in str(caught.value) and KEY not in str(caught.value)


def test_a_system_of_an_endpoint_keeps_what_was_said(spoken, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    clip, reply = spoken
    before = usage["spoken_texts"]
    with serving(lambda *_: reply) as server:
        for _ in range(2):
            system = build("openai:talks", speaks="own", base_url=server.url, speaks_voice="verse")
            ((stored,),) = system.answer([Question(ask()[0], {}, purpose=REPLY)], 1)
    assert len(server.requests) == 1 and usage["spoken_texts"] - before == 1
    assert (stored.audio.samples == clip.samples).all() and stored.text == "Good evening."


def stream(audio, parts=3):
    """Return what a server sends that streams the audio in parts, after its text."""
    size = len(audio) // parts + 1
    data = [base64.b64encode(audio[start : start + size]).decode() for start in range(0, len(audio), size)]
    deltas = [{"role": "assistant", "audio": {"id": "a", "transcript": "Good evening."}}]
    return events([*deltas, *({"audio": {"data": part}} for part in data)])


def test_a_streamed_reply_is_the_same_and_has_the_time_of_its_first_audio(spoken):
    clip, _ = spoken
    with serving(lambda *_: stream(encode_audio([clip.samples], "WAV"))) as server, recording() as recorder:
        ((reply,),) = open_model(server.url).reply(ask(), [[3]], SAMPLED)
    assert (reply.text, reply.audio) == ("Good evening.", clip) and server.requests[0]["stream"] is True
    times = recorder.latencies[3]
    assert 0 < times.first_token <= times.first_audio <= times.total


def test_audio_without_a_header_is_read_at_its_rate():
    samples = np.round(np.sin(np.arange(24_000) / 20) * 2**14) / 2**15
    audio = (samples * 2**15).astype("<i2").tobytes()
    with serving(lambda *_: stream(audio)) as server, recording():
        ((reply,),) = open_model(server.url, response_format="pcm16").reply(ask(), [[3]], {})
    assert server.requests[0]["audio"]["format"] == "pcm16" and reply.audio == as_speech(samples, 24_000, "m")
    with serving(lambda *_: say(audio[:-1])) as server, pytest.raises(SpeechIQError, match="sent no audio"):
        open_model(server.url, response_format="pcm16").reply(ask(), [[3]], {})
