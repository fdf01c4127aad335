"""Test chunks of long clips: none too long, no word cut, nothing lost or repeated, and memory that does not grow."""

import io
import tracemalloc
from functools import partial
from itertools import accumulate, cycle

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from speechiq.core.clip import SAMPLING_RATE, Clip, Cut, Samples
from speechiq.core.recordings.audio_file import AudioFile
from speechiq.engines._shared.chunking import (
    SEARCHED_S,
    SPAN_S,
    count_chunks,
    list_chunks,
    read_chunks,
    split_at_pauses,
)
from speechiq.engines.asr import checkpoint, pocketsphinx
from speechiq.engines.asr.hf import CTCASR, TDTASR
from speechiq.engines.asr.openai import OpenAIASR
from speechiq.engines.asr.whisper import WhisperASR
from speechiq.engines.audio.prompts import AudioLimits
from speechiq.metrics.words.wer import wer
from tests.engines.opener import open_engine
from tests.engines.tiny_recognizers import save
from tests.records import texts
from tests.siq_tasks.questions.server import serving


def split(samples, longest) -> list[np.ndarray]:
    return list(split_at_pauses(iter([samples]), len(samples) / SAMPLING_RATE, longest))


def find_cuts(samples, longest) -> list[int]:
    return list(accumulate(map(len, split(samples, longest)[:-1])))


@given(samples=st.integers(0, 3_000_000), longest=st.floats(1, 40))
def test_the_chunks_cover_the_clip_and_none_is_longer_than_the_limit(samples, longest):
    numbers = np.arange(samples, dtype=np.float32)
    chunks = split(numbers, longest)
    np.testing.assert_array_equal(np.concatenate(chunks), numbers)
    assert max(map(len, chunks)) <= longest * SAMPLING_RATE


def test_a_clip_is_split_at_its_pauses():
    rng = np.random.default_rng(0)
    speech = rng.normal(0, 0.1, 100 * SAMPLING_RATE).astype(np.float32)
    found = find_cuts(speech, 30)
    pauses = [cut / SAMPLING_RATE + side * SEARCHED_S / 4 for cut, side in zip(found, (1, -1, 1), strict=True)]
    for pause in pauses:
        speech[int((pause - 0.1) * SAMPLING_RATE) : int((pause + 0.1) * SAMPLING_RATE)] *= 0.01
    again = find_cuts(speech, 30)
    assert again != found
    assert all(speech[cut - 600 : cut + 600].std() < 0.01 for cut in again)


def test_real_speech_is_not_cut_within_a_word(demo_clips):
    longest = max(demo_clips, key=lambda clip: clip.duration)
    samples = longest.samples
    for cut in find_cuts(samples, 10):
        around = samples[cut - SAMPLING_RATE // 20 : cut + SAMPLING_RATE // 20]
        assert around.std() < 0.35 * samples.std()


LONG_S = 10.2 * 60


def write(file, clips, seconds, rate=SAMPLING_RATE) -> Clip:
    """Write clips one after the other, again and again, until there are so many seconds."""
    left = int(seconds * rate)
    with soundfile.SoundFile(file, "w", rate, channels=1) as sound:
        for clip in cycle(clips):
            samples = clip.samples[:left]
            sound.write(samples)
            left -= len(samples)
            if not left:
                break
    return Clip(AudioFile(str(file), "0" * 64), 0.0, int(seconds * rate) / rate)


@pytest.fixture(scope="module")
def long_clip(demo_clips, tmp_path_factory) -> Clip:
    return write(tmp_path_factory.mktemp("long") / "long.flac", demo_clips[:4], LONG_S)


def peak_mb(work) -> float:
    """Return the most memory of numpy and Python during a call."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("longest", [30, SPAN_S])
def test_chunks_are_those_of_the_whole_clip(long_clip, longest):
    expected = split(long_clip.samples, longest)
    found = list(read_chunks(long_clip, longest))
    assert count_chunks(long_clip, longest) == len(found) > 1
    for chunk, part, clip in zip(found, expected, list_chunks(long_clip, longest), strict=True):
        np.testing.assert_array_equal(chunk, part)
        assert round(clip.duration * SAMPLING_RATE) == len(chunk)
        np.testing.assert_array_equal(clip.samples, chunk)


@pytest.mark.parametrize(("rate", "kind"), [(44_100, "wav"), (8_000, "flac"), (48_000, "ogg")])
def test_chunks_of_another_rate_are_those_of_the_whole_clip(demo_clips, tmp_path, rate, kind):
    clip = write(tmp_path / f"clip.{kind}", demo_clips[:1], 21.7, rate)
    np.testing.assert_array_equal(np.concatenate(list(read_chunks(clip, 5))), clip.samples)
    assert max(map(len, read_chunks(clip, 5))) <= 5 * SAMPLING_RATE


def test_a_short_clip_is_one_chunk_and_not_decoded(demo_clips):
    missing = Clip(AudioFile("no/such/file.wav", "0" * 64), 0.0, 10.23456)
    assert list_chunks(missing, 10.23456) == [missing] and count_chunks(missing, 10.23456) == 1
    clip = demo_clips[0].part(0.1, 2.34567)
    (only,) = read_chunks(clip, clip.duration)
    np.testing.assert_array_equal(only, clip.samples)


def test_clips_in_memory_and_changed_clips_are_split_too(demo_clips):
    samples = demo_clips[0].samples
    clip = Clip(Samples("0a", samples), 0.0, len(samples) / SAMPLING_RATE)
    changed = Clip(clip.source, 0.0, clip.length, (Cut(0.0, clip.length),))
    for one in (clip, changed):
        np.testing.assert_array_equal(np.concatenate(list(read_chunks(one, 4))), samples)
        chunks = list_chunks(one, 4)
        assert len({chunk.key for chunk in chunks}) == len(chunks) > 1
        np.testing.assert_array_equal(np.concatenate([chunk.samples for chunk in chunks]), samples)


def test_the_memory_for_chunks_does_not_grow_with_the_clip(long_clip):
    assert peak_mb(lambda: [None for _ in read_chunks(long_clip, 30)]) < 10
    assert peak_mb(lambda: long_clip.samples) > 35


def test_a_recognizer_gets_spans_and_memory_does_not_grow(long_clip, tmp_path):
    asr, seconds, found = open_engine(CTCASR, str(save("wav2vec2", tmp_path))), [], []
    decode = asr.decode

    def recorded(model, audio):
        seconds.extend(len(samples) / SAMPLING_RATE for samples in audio)
        return decode(model, audio)

    asr.decode = recorded
    memory = peak_mb(lambda: found.extend(asr.transcribe([long_clip])))
    assert len(seconds) == count_chunks(long_clip, SPAN_S) == 3 and max(seconds) <= SPAN_S
    assert sum(seconds) == pytest.approx(long_clip.duration) and found[0].coverage == 1.0
    assert memory < 4 * SPAN_S * SAMPLING_RATE * 4 / 2**20
    assert asr.describe()["span_s"] == SPAN_S


def test_the_transcripts_of_spans_are_joined_for_each_clip(long_clip, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SPAN_S", 2.0)
    asr = open_engine(TDTASR, str(save("parakeet_tdt", tmp_path)), batch_size=1)
    clips = [long_clip.part(*span) for span in ((0.0, 4.5), (40.0, 1.5), (70.0, 3.0))]
    expected = [" ".join(filter(None, texts(asr.transcribe(list_chunks(clip, 2.0))))) for clip in clips]
    assert texts(asr.transcribe(clips)) == expected and all(expected)


def test_an_endpoint_gets_chunks_one_by_one_or_a_file_that_is_encoded_block_by_block(long_clip, endpoint_key):
    sizes = []

    def reply(flac, _):
        sizes.append(soundfile.info(io.BytesIO(flac)).duration)
        return f"{len(sizes)}"

    with serving(reply) as server:
        engine = partial(open_engine, OpenAIASR, "scribe", prefix="asr_", base_url=server.url)
        (transcript,) = engine(max_audio_s=60).transcribe([long_clip])
        assert transcript.text == " ".join(str(i + 1) for i in range(len(sizes))) and transcript.coverage == 1.0
        assert max(sizes) <= 60 and sum(sizes) == pytest.approx(long_clip.duration)
        sizes.clear()
        engine().transcribe([long_clip])
        assert sizes == [pytest.approx(long_clip.duration)]
        remote = engine().remote
    assert peak_mb(lambda: list(remote.encode(long_clip, "FLAC"))) < 40  # the file itself has about 10 MB


class Takes:
    """Stand for the processor of a model that takes any audio in one chunk."""

    name, takes_several = "takes", True

    def probe(self, seconds):
        return True, seconds


def test_an_audio_model_transcribes_spans_but_gets_questions_about_all_it_takes(long_clip):
    found = AudioLimits(Takes(), context=10_000)
    assert [round(clip.duration) for clip in found.transcript_chunks(long_clip)] == [205, 202, 204]  # cut at pauses
    assert found.chunks(long_clip) == [long_clip]


def test_real_recognizers_lose_no_words_between_spans(demo_models, references, monkeypatch):
    monkeypatch.setattr(checkpoint, "SPAN_S", 15.0)
    clip = next(clip for clip in references if "earnings-1" in clip.name)
    assert count_chunks(clip, 15.0) == 3
    (whisper,) = open_engine(WhisperASR, "demo:whisper-tiny.en").transcribe([clip])
    assert wer(references[clip], whisper.text) < 0.25
    monkeypatch.setattr(pocketsphinx, "SPAN_S", 4.0)
    short = clip.part(0.0, 7.0)
    assert count_chunks(short, 4.0) > 1
    assert 10 < len(pocketsphinx.decode_clip(short).split()) < 35
