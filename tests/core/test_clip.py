import copy
import hashlib
import json
import pickle
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import soundfile

from speechiq.core.clip import SAMPLING_RATE, Clip, Cut, as_clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings.audio_file import AudioFile
from speechiq.core.response import Response
from speechiq.core.transforms import Noise
from speechiq.core.usage import usage
from speechiq.engines.cached import CachedEngine
from speechiq.metrics.choice import NONE_OF_THE_ABOVE
from speechiq.siq_tasks.loaders.audio import to_answer, to_transcribe
from tests.records import items


def write_tone(file, rate=SAMPLING_RATE, channels=1, seconds=1.0, **options):
    """A 440 Hz tone of half the full scale, in every channel."""
    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(round(rate * seconds)) / rate)
    soundfile.write(file, np.stack([tone] * channels, axis=1), rate, **options)
    return Clip(AudioFile(str(file), sha256(file)), 0.0, seconds)


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
    clip.source.check()
    array = clip.samples
    assert array.dtype == np.float32 and array.ndim == 1
    assert len(array) == pytest.approx(SAMPLING_RATE, rel=0.05)
    spectrum = np.abs(np.fft.rfft(array[2000:14000]))
    assert np.argmax(spectrum) * SAMPLING_RATE / 12000 == pytest.approx(440, abs=3)
    assert np.abs(array[2000:14000]).max() == pytest.approx(0.5, abs=0.1)


def test_a_clip_that_was_read_stays_small(tmp_path):
    clip = write_tone(tmp_path / "a.wav")
    assert len(clip.samples) == SAMPLING_RATE
    assert len(pickle.dumps(clip)) < 1000 and len(pickle.loads(pickle.dumps(clip)).samples) == SAMPLING_RATE


def test_a_part_of_a_file_is_a_clip_of_its_own(tmp_path):
    whole = write_tone(tmp_path / "a.wav", seconds=2.0)
    part = replace(whole, offset=0.5, length=1.0)
    np.testing.assert_array_equal(part.samples, whole.samples[8_000:24_000])
    assert part.key != whole.key
    in_memory = as_clip({"array": whole.samples, "sampling_rate": SAMPLING_RATE})
    for clip in (whole, in_memory):
        part = clip.part(0.5, 1.25).part(0.25, 0.75)
        np.testing.assert_array_equal(part.samples, whole.samples[12_000:24_000])
        assert (part.offset, part.duration) == (0.75, 0.75)


def test_the_samples_of_a_clip_in_memory_are_copies():
    clip = as_clip({"array": np.ones(SAMPLING_RATE, np.float32), "sampling_rate": SAMPLING_RATE})
    clip.samples[:] = 0
    assert clip.samples.all()


def test_the_key_of_a_clip_without_transforms_is_that_of_stored_answers():
    assert Clip(AudioFile("a.wav", "0a"), 0.0, 31.3859375).key == "0a@0+31.3859"
    assert Clip(AudioFile("a.wav", "0a"), 1.5, 2, id="x").key == "0a@1.5+2"


def test_a_transform_changes_samples_and_key_and_is_part_of_the_clip(tmp_path):
    clean = write_tone(tmp_path / "a.wav", seconds=2.0)
    noise = Noise("white", 10.0, 7)
    noisy, part_of_it = replace(clean, transforms=(noise,)), replace(clean, transforms=(noise, Cut(0.5, 1.0)))
    np.testing.assert_array_equal(noisy.samples, noise.apply(clean.samples))
    np.testing.assert_array_equal(part_of_it.samples, noisy.samples[8_000:24_000])
    assert (noisy.duration, part_of_it.duration) == (2.0, 1.0)
    keys = [clean.key, noisy.key, part_of_it.key, replace(clean, transforms=(Noise("white", 10.0, 8),)).key]
    assert len(set(keys)) == 4 and noisy != clean and pickle.loads(pickle.dumps(noisy)) == noisy
    np.testing.assert_array_equal(noisy.part(0.5, 1.0).samples, noisy.samples[8_000:24_000])
    part = part_of_it.part(0.25, 0.5)
    np.testing.assert_array_equal(part.samples, part_of_it.samples[4_000:12_000])
    assert part.duration == 0.5 and part.key not in keys


class Stage:
    """A recognizer that writes how loud a clip is."""

    kind = "asr"

    def identity(self):
        return {"stage": "asr", "model": "loudness"}

    def transcribe(self, clips, on_result):
        usage["asr_clips"] += len(clips)
        on_result(range(len(clips)), [Response(f"{np.abs(clip.samples).max():.3f}", coverage=1.0) for clip in clips])


def test_a_stored_transcript_of_a_clip_is_not_that_of_its_noisy_twin(tmp_path):
    clean = write_tone(tmp_path / "a.wav")
    noisy = replace(clean, transforms=(Noise("white", 10.0, 7),))
    store, before = tmp_path / "store", usage["asr_clips"]
    (quiet,) = CachedEngine(Stage(), store).transcribe([clean])
    again, loud = CachedEngine(Stage(), store).transcribe([clean, noisy])
    assert quiet == again != loud and usage["asr_clips"] == before + 2
    assert CachedEngine(Stage(), store).transcribe([noisy]) == [loud] and usage["asr_clips"] == before + 2


def test_the_purpose_travels_next_to_the_clip_in_the_form_of_lm_eval(tmp_path):
    clip = write_tone(tmp_path / "a.wav")
    doc = {"audio": items(clip), "question": "Why?", "options": ["a", "b", "c", "d"]}
    (transcribed,), (answered,) = to_transcribe(doc), to_answer(doc)
    assert (transcribed["purpose"], answered["purpose"], answered["question"]) == ("transcribe", "answer", "Why?")
    assert answered["options"] == ["a", "b", "c", "d", NONE_OF_THE_ABOVE]
    assert as_clip(transcribed) == as_clip(answered) == clip
    for same in (answered, pickle.loads(pickle.dumps(answered)), copy.deepcopy(answered)):
        np.testing.assert_array_equal(same["array"], clip.samples)
        assert json.loads(json.dumps(same)) == answered and "array" not in same


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (Path.unlink, "no such audio file"),
        (lambda file: file.write_bytes(b""), "sha256 is not"),
        (partial(write_tone, channels=2), "sha256 is not"),
    ],
)
def test_a_file_that_is_missing_or_was_changed_is_refused_by_name(tmp_path, spoil, message):
    file = tmp_path / "a.wav"
    clip = write_tone(file)
    spoil(file)
    with pytest.raises(SpeechIQError, match=rf"a\.wav'?: .*{message}"):
        clip.source.check()


@pytest.mark.slow
def test_an_opus_file_is_decoded_in_blocks_as_at_once(tmp_path, demo_clips):
    """libsndfile returns wrong samples if a read begins within the last page of an Opus file."""
    whole = np.concatenate([clip.samples for clip in demo_clips[:5]])
    file = tmp_path / "long.ogg"
    soundfile.write(file, whole, SAMPLING_RATE, format="OGG", subtype="OPUS")
    for seconds in (130.05, len(whole) / SAMPLING_RATE):
        at_once, _ = soundfile.read(file, frames=round(seconds * SAMPLING_RATE), dtype="float32")
        assert np.array_equal(Clip(AudioFile(str(file), sha256(file)), 0.0, seconds).samples, at_once)
    for clip in demo_clips[:2]:
        assert np.array_equal(clip.samples, soundfile.read(clip.source.file, dtype="float32")[0])
