import copy
import hashlib
import json
import pickle

import numpy as np
import pytest
import soundfile

from speechiq.core.clip import SAMPLING_RATE, Clip, as_clip
from speechiq.core.errors import SpeechIQError
from speechiq.metrics.choice import NONE_OF_THE_ABOVE
from speechiq.siq_tasks.audio import to_answer, to_transcribe


def write_tone(file, rate=SAMPLING_RATE, channels=1, seconds=1.0, **options):
    """A 440 Hz tone of half the full scale, in every channel."""
    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(round(rate * seconds)) / rate)
    soundfile.write(file, np.stack([tone] * channels, axis=1), rate, **options)
    return Clip(path=str(file), sha256=sha256(file), sampling_rate=SAMPLING_RATE, duration=seconds)


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("name", "rate", "channels", "options"),
    [
        ("a.wav", 16_000, 1, {}),
        ("a.wav", 8_000, 2, {}),
        ("a.wav", 44_100, 1, {"subtype": "FLOAT"}),
        ("a.flac", 48_000, 2, {}),
        ("a.ogg", 16_000, 1, {"format": "OGG", "subtype": "OPUS"}),
        ("a.ogg", 22_050, 2, {"format": "OGG", "subtype": "VORBIS"}),
        ("a.mp3", 44_100, 2, {}),
    ],
)
def test_any_rate_channel_count_and_format_comes_out_mono_at_16_khz(tmp_path, name, rate, channels, options):
    clip = write_tone(tmp_path / name, rate, channels, **options)
    clip.check()
    array = clip["array"]
    assert array.dtype == np.float32 and array.ndim == 1
    assert len(array) == pytest.approx(SAMPLING_RATE, rel=0.05)
    spectrum = np.abs(np.fft.rfft(array[2000:14000]))
    assert np.argmax(spectrum) * SAMPLING_RATE / 12000 == pytest.approx(440, abs=3)
    assert np.abs(array[2000:14000]).max() == pytest.approx(0.5, abs=0.1)


def test_a_clip_stays_small_whatever_is_done_to_it(tmp_path):
    clip = write_tone(tmp_path / "a.wav")
    assert len(clip["array"]) == SAMPLING_RATE and "array" not in clip
    assert json.loads(json.dumps(clip)) == clip
    for same in (pickle.loads(pickle.dumps(clip)), copy.deepcopy(clip)):
        assert same == clip and len(same["array"]) == SAMPLING_RATE
    assert len(pickle.dumps(clip)) < 1000


def test_a_part_of_a_file_is_a_clip_of_its_own(tmp_path):
    whole = write_tone(tmp_path / "a.wav", seconds=2.0)
    part = Clip(whole, offset=0.5, duration=1.0)
    np.testing.assert_array_equal(part["array"], whole["array"][8_000:24_000])
    assert part.key != whole.key
    in_memory = as_clip({"array": whole["array"], "sampling_rate": SAMPLING_RATE})
    for clip in (whole, in_memory):
        part = clip.part(0.5, 1.25).part(0.25, 0.75)
        np.testing.assert_array_equal(part["array"], whole["array"][12_000:24_000])
        assert (part["offset"], part["duration"]) == (0.75, 0.75)


def test_what_is_asked_travels_with_the_clip_but_is_not_its_key(demo_clips):
    doc = {"audio": demo_clips[0], "question": "Why?", "options": ["a", "b", "c", "d"]}
    (heard,), (asked,) = to_transcribe(doc), to_answer(doc)
    assert (heard["purpose"], asked["purpose"], asked["question"]) == ("transcribe", "answer", "Why?")
    assert asked["options"] == ["a", "b", "c", "d", NONE_OF_THE_ABOVE]
    assert heard.key == asked.key


def spoil_nothing(file):
    file.unlink()


def spoil_empty(file):
    file.write_bytes(b"")


def spoil_noise(file):
    file.write_bytes(b"this is no audio file" * 100)


def spoil_zero_length(file):
    soundfile.write(file, np.zeros(0), SAMPLING_RATE)


def spoil_shorter(file):
    write_tone(file, seconds=0.5)


def spoil_other_content(file):
    write_tone(file, channels=2)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_nothing, "no such audio file"),
        (spoil_empty, "not readable as audio"),
        (spoil_noise, "not readable as audio"),
        (spoil_zero_length, "holds no samples"),
        (spoil_shorter, r"should end at 1\.00 s but the file has 0\.50 s"),
        (spoil_other_content, "sha256 is not"),
    ],
)
def test_a_clip_that_cannot_be_heard_is_refused_by_name(tmp_path, spoil, message):
    file = tmp_path / "a.wav"
    clip = write_tone(file)
    spoil(file)
    with pytest.raises(SpeechIQError, match=rf"a\.wav: .*{message}"):
        clip.check()
