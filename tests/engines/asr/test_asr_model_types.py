"""Test recognizers other than Whisper: real architectures and processors, tiny and untrained, so texts mean nothing."""

import shutil

import numpy as np
import pytest
import torch
import transformers

from speechiq.core.errors import SpeechIQError
from speechiq.core.usage import usage
from speechiq.engines._shared.chunking import read_chunks
from speechiq.engines.asr.checkpoint import padding_changes_output
from speechiq.engines.asr.hf import CTCASR, RNNTASR, TDTASR, Seq2SeqASR, TransformersASR, collapse
from speechiq.engines.base import Setup
from tests.engines.opener import build, open_engine
from tests.engines.tiny_recognizers import save
from tests.records import texts
from tests.runs import evaluate

pytestmark = pytest.mark.slow

LLM = "demo:SmolLM2-135M-Instruct"
ENGINES = {
    "wav2vec2": CTCASR,
    "wav2vec2-base": CTCASR,
    "parakeet_ctc": CTCASR,
    "moonshine": Seq2SeqASR,
    "canary": Seq2SeqASR,
    "parakeet_tdt": TDTASR,
    "parakeet_rnnt": RNNTASR,
}


@pytest.fixture(scope="module")
def saved(demo_models, tmp_path_factory):
    """Return a function that saves a model of an architecture once and returns its folder."""
    made = {}

    def place(kind: str) -> str:
        if kind not in made:
            made[kind] = str(save(kind, tmp_path_factory.mktemp(kind)))
        return made[kind]

    return place


@pytest.fixture(scope="module")
def clips(demo_clips):
    """Return a clip that all recognizers take undivided, one that most take, and a long one."""
    return [next(clip for clip in demo_clips if name in clip.name) for name in ("kennedy", "medical-1", "earnings-2")]


@pytest.mark.parametrize("kind", ENGINES)
def test_each_kind_finds_its_engine_and_transcripts_do_not_depend_on_the_batch(saved, clips, kind):
    engine = TransformersASR.choose(saved(kind), {}, Setup())
    assert engine is ENGINES[kind]
    before = usage["asr_clips"]
    together = open_engine(engine, saved(kind), batch_size=3).transcribe(clips)
    assert usage["asr_clips"] == before + 3
    alone = open_engine(engine, saved(kind), batch_size=1).transcribe(clips)
    assert together == alone and all(texts(together)) and len(set(together)) == 3
    assert [response.coverage for response in together] == [1.0] * 3


def test_a_recognizer_runs_in_lm_eval_by_the_spec_of_its_system(saved):
    system = {"pretrained": f"{saved('parakeet_tdt')}+{LLM}"}
    results = evaluate("hf-audio", ["siq_demo_remember"], model_args=system, limit=2)
    assert results["results"]["siq_demo_remember"]["wer,transcript"] > 0


def test_a_double_letter_stays_double(saved):
    tokenizer = transformers.AutoTokenizer.from_pretrained(saved("wav2vec2"))
    frames = tokenizer.convert_tokens_to_ids(["H", "H", "E", "<pad>", "L", "L", "<pad>", "L", "O", "|", "<pad>", "U"])
    assert collapse(tokenizer, frames, 0) == "HELLO U"


def test_padding_shows_where_it_leaks_into_normalization_and_not_where_frames_stand_alone():
    def padded(sounds):
        return torch.nn.utils.rnn.pad_sequence([torch.tensor(sound) for sound in sounds], batch_first=True)

    frames = lambda sounds: padded(sounds).unfold(1, 400, 320)  # noqa: E731
    assert not padding_changes_output(lambda sounds: frames(sounds)[:, :100], torch.float32)
    normalized = lambda sounds: frames(sounds)[:, :100] / padded(sounds).std(dim=1)[:, None, None]  # noqa: E731
    assert padding_changes_output(normalized, torch.float32)


@pytest.mark.parametrize("kind", ["wav2vec2", "moonshine", "parakeet_tdt"])
def test_the_transcript_of_a_long_clip_is_that_of_its_chunks(saved, clips, kind):
    asr = open_engine(ENGINES[kind], saved(kind), batch_size=2, window_s=10)
    whole = clips[-1].samples
    chunks = list(read_chunks(clips[-1], 10))
    with asr.checkpoint.loaded() as model:
        assert asr.decode(model, [whole]) == [(" ".join(text for (text,) in asr.decode(model, chunks)),)]


def test_an_n_best_list_begins_with_what_beam_search_says(saved, clips):
    options = {"device": "cpu", "batch_size": 3, "num_beams": 4}
    lists = open_engine(Seq2SeqASR, saved("moonshine"), nbest=3, **options).transcribe(clips)
    assert texts(lists) == texts(open_engine(Seq2SeqASR, saved("moonshine"), **options).transcribe(clips))
    assert all(len(set(response.hypotheses)) == 3 and response.hypotheses[0] == response.text for response in lists)


def test_the_language_goes_into_the_prompt_of_a_model_that_takes_one(saved):
    asr = open_engine(Seq2SeqASR, saved("canary"), batch_size=1, language="de")
    (ids,) = asr.request([np.zeros(16_000, np.float32)])["decoder_input_ids"].tolist()
    assert asr.processor.tokenizer.convert_ids_to_tokens(ids) == ["<|startofcontext|>", "<|de|>", "<|de|>"]
    assert asr.describe()["language"] == "de"


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("wav2vec2", {"asr_nbest": 5}, "asr_nbest: no such option .*lists come from Whisper and other encoder-dec"),
        ("parakeet_tdt", {"asr_nbest": 5}, "asr_nbest: no such option .*Whisper"),
        (
            "wav2vec2",
            {"asr_num_beams": 5},
            "asr_num_beams: no such option .*; it has that one for other kinds of models",
        ),
        ("wav2vec2", {"asr_window_s": "much"}, "asr_window_s=much: not a number of seconds"),
        ("moonshine", {"asr_window_s": 0.1}, "^asr_window_s=0.1: not a number of seconds from 1 to 86400; give one"),
        ("canary", {"asr_language": "tlh"}, "cannot make a transcription request with asr_language=tlh"),
        ("moonshine", {"asr_language": "de"}, "asr_language=de: .*moonshine.* has no option for the language"),
        ("moonshine", {"asr_nbest": 5, "asr_num_beams": 2}, "asr_nbest=5: asr_num_beams=2 cannot give so many"),
    ],
)
def test_what_a_kind_cannot_do_is_refused_before_it_is_loaded(saved, kind, options, message):
    with pytest.raises(SpeechIQError, match=message):
        build(f"{saved(kind)}+{LLM}", **options)


@pytest.mark.parametrize(
    ("model", "parts", "message"),
    [
        ("Wav2Vec2Model", ["AutoProcessor"], "its architecture is Wav2Vec2Model, which writes no text"),
        ("AutoModelForCTC", [], "processor"),
        ("AutoModelForCTC", ["AutoFeatureExtractor"], "processor"),
    ],
)
def test_a_checkpoint_that_writes_no_text_or_misses_a_part_of_its_processor_is_refused(
    saved, tmp_path, model, parts, message
):
    for part in (model, *parts):
        getattr(transformers, part).from_pretrained(saved("wav2vec2")).save_pretrained(tmp_path)
    with pytest.raises(SpeechIQError, match=message):
        open_engine(CTCASR, str(tmp_path), batch_size=1)


def test_a_recognizer_without_its_vocabulary_names_the_missing_file(saved, tmp_path):
    bare = shutil.copytree(saved("wav2vec2"), tmp_path / "bare", ignore=shutil.ignore_patterns("vocab.json"))
    with pytest.raises(SpeechIQError, match=r"processor cannot be loaded \(a file that it needs, such as vocab.json"):
        open_engine(CTCASR, str(bare))
