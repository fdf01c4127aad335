"""Test voices behind `/v1/audio/speech` over real HTTP: requests, formats, and errors for faults of servers."""

import io
import json

import numpy as np
import pytest
import soundfile

from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.speech import SHORTEST_S
from speechiq.engines.speech.openai import OpenAISpeech
from tests.conftest import KEY
from tests.engines.opener import open_engine
from tests.siq_tasks.questions.server import serving

pytestmark = pytest.mark.usefixtures("endpoint_key")

AUDIO = {"Content-Type": "audio/wav"}


def open_voice(url, **options):
    return open_engine(OpenAISpeech, "tts", prefix="speaks_", **{"base_url": url, "max_retries": 1} | options)


def tone(seconds, container="WAV", rate=24_000):
    file = io.BytesIO()
    soundfile.write(file, 0.3 * np.sin(np.arange(int(seconds * rate)) / 10), rate, format=container)
    return file.getvalue()


def loud(peak):
    file = io.BytesIO()
    soundfile.write(file, np.full(24_000, peak, np.float32), 24_000, format="WAV", subtype="FLOAT")
    return file.getvalue()


def test_a_text_goes_out_with_its_voice_and_comes_back_as_a_clip():
    with serving(lambda *_: (200, AUDIO, tone(1.5))) as server:
        voice = open_voice(server.url, voice="nova", speed=1.5, instructions="Whisper.")
        clip, silence = voice.speak(["Good\nmorning.", " "], [0, 1])
    assert server.requests == [
        {"model": "tts", "input": "Good morning.", "voice": "nova", "response_format": "wav", "speed": 1.5,
         "instructions": "Whisper."}
    ]  # fmt: skip
    assert clip.duration == pytest.approx(1.5) and clip.samples.max() == pytest.approx(0.3, abs=0.01)
    assert silence.duration == SHORTEST_S
    assert voice.describe()["voice"] == "nova" and KEY not in json.dumps(voice.identity())


@pytest.mark.parametrize("container", ["FLAC", "MP3", "streamed"])
def test_other_formats_and_streams_without_a_length_are_read(container):
    audio = tone(1.0) if container == "streamed" else tone(1.0, container)
    if container == "streamed":
        place = audio.index(b"data") + 4
        audio = audio[:4] + b"\xff" * 4 + audio[8:place] + b"\xff" * 4 + audio[place + 4 :]
    with serving(lambda *_: (200, AUDIO, audio)) as server:
        (clip,) = open_voice(server.url, response_format="flac").speak(["Yes."], [0])
    assert clip.duration == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((200, {"Retry-After-Ms": "5"}, b""), r"sent no audio \(an empty reply\)"),
        ((200, {"Content-Type": "text/html"}, "<html>"), r"sent no audio \(its reply: not readable as audio"),
        ((200, AUDIO | {"Retry-After-Ms": "5"}, tone(1 / 24_000)), r"sent no speech \(its audio has 4.*e-05 s\); try"),
        ((200, AUDIO, loud(13_222)), r"sent no audio \(its reply: it has a sample of 13222, but full scale is 1"),
        ((200, AUDIO, tone(1.0)[:-19_000]), r"sent no audio \(its reply: cut off"),
        ((400, {}, '{"error": {"message": "unknown voice, {key}"}}'), r"answered 400, .*unknown voice, .*\*\*\*"),
        ((404, {}, "no such page"), "answered 404, .*; check speaks_base_url and the model's name"),
    ],
)
def test_what_fails_for_good_is_one_line_and_never_silence(reply, message):
    with serving(lambda *_: reply) as server, pytest.raises(SpeechIQError, match=message) as caught:
        open_voice(server.url).speak(["Yes."], [0])
    assert str(caught.value).startswith("openai:tts at 127.0.0.1: ") and KEY not in str(caught.value)
