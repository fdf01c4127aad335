"""Test n-best lists of Whisper: real beams of real clips, against transformers' own beam search."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoProcessor, WhisperForConditionalGeneration
from transformers.models.whisper.generation_whisper import WhisperGenerationMixin

from speechiq.core.checkpoints.names import resolve
from speechiq.engines.asr.checkpoint import join_nbest
from speechiq.engines.asr.whisper import OneTimestamp, WhisperASR, read_windows
from tests.engines.opener import open_engine

TINY = "demo:whisper-tiny.en"
EOS, BEGIN = 100, 200


@pytest.fixture(scope="module")
def clips(demo_clips):
    """Return a clip that fits into the window, and one that does not."""
    return [next(clip for clip in demo_clips if name in clip.name) for name in ("kennedy", "earnings-1")]


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
    features = processor(clips[0].samples, sampling_rate=16_000, return_tensors="pt")
    ids = model.generate(**features, num_beams=5, do_sample=False, return_timestamps=True)
    assert processor.decode(ids[0], skip_special_tokens=True).strip() == lists[0].text


def test_a_list_does_not_depend_on_the_batch_and_a_shorter_one_is_its_beginning(lists, clips):
    again = open_engine(WhisperASR, TINY, batch_size=1, nbest=3, num_beams=5).transcribe(clips)
    assert [response.hypotheses for response in again] == [response.hypotheses[:3] for response in lists]


def test_a_hypothesis_of_a_long_clip_goes_on_to_its_end(lists):
    assert all("12 cents per share" in hypothesis for hypothesis in lists[1].hypotheses)


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
