"""Join rows of tokens and caches into batches, and draw tokens by their own seeds."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from transformers import DynamicCache

from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.checkpoint_writer import join_caches, pad
from speechiq.engines._shared.sampling import RefuseNaN, SeededSampling, draw_choices, uniforms


@pytest.mark.parametrize(
    ("side", "ids", "mask"),
    [
        ("left", [[1, 2, 3], [4, 4, 4]], [[1, 1, 1], [0, 0, 1]]),
        ("right", [[1, 2, 3], [4, 4, 4]], [[1, 1, 1], [1, 0, 0]]),
    ],
)
def test_rows_are_padded_with_their_own_first_token(side, ids, mask):
    assert [part.tolist() for part in pad([[1, 2, 3], [4]], side, "cpu")] == [ids, mask]


def test_an_empty_row_is_all_padding():
    ids, mask = pad([[], [5, 6]], "right", "cpu")
    assert mask.tolist() == [[0, 0], [1, 1]] and ids.shape == (2, 2)
    assert [part.shape for part in pad([[], []], "left", "cpu")] == [(2, 0), (2, 0)]


def cache_of(tokens):
    cache = DynamicCache()
    for layer in range(2):
        cache.update(torch.full((1, 1, tokens, 2), float(tokens)), torch.ones(1, 1, tokens, 2), layer)
    return cache


def test_caches_are_joined_at_their_ends():
    short, long = cache_of(2), cache_of(3)
    joined = join_caches([short, long, short])
    assert joined.layers[1].keys[:, 0, :, 0].tolist() == [[0, 2, 2], [3, 3, 3], [0, 2, 2]]
    assert short.get_seq_length() == 2 and join_caches([long]).get_seq_length() == 3


@pytest.mark.parametrize(
    "draw",
    [
        lambda rows: SeededSampling(range(len(rows)))(torch.zeros(len(rows), 1), rows).argmax(-1),
        lambda rows: draw_choices(rows, torch.from_numpy(uniforms(range(len(rows)), 1)[:, 0])),
    ],
    ids=["tokens", "choices"],
)
def test_draws_follow_the_softmax(draw):
    logits, n = torch.tensor([[0.5, -1.0, 2.0, -torch.inf, 0.0]]), 10_000
    counts, expected = np.bincount(draw(logits.expand(n, -1)), minlength=5), logits[0].softmax(-1).numpy().astype(float)
    assert counts[3] == 0
    assert chisquare(np.delete(counts, 3), np.delete(expected, 3) / expected.sum() * n).pvalue > 1e-3


def test_rounding_of_logits_changes_next_to_no_token():
    scores = 4 * torch.randn(64, 50_000, generator=torch.Generator().manual_seed(0))
    noise = 1e-5 * torch.randn(scores.shape, generator=torch.Generator().manual_seed(1))
    one, other = (SeededSampling(range(64))(scores, values).argmax(-1) for values in (scores, scores + noise))
    assert torch.equal(one, other)
    halves = SeededSampling(range(64))(scores, scores.bfloat16()).argmax(-1)
    assert (one == halves).float().mean() > 0.9


def test_a_model_that_computes_nan_is_named():
    refuse = RefuseNaN("llm", torch.float16)
    with pytest.raises(SpeechIQError, match=r"^llm: computes NaN in float16; give its stage dtype=bfloat16"):
        refuse(torch.zeros(1, 1), torch.tensor([[0.0, torch.nan]]))


def test_the_ends_of_the_interval_stay_inside():
    logits = torch.zeros(2, 3)
    assert draw_choices(logits, torch.tensor([0.0, 1 - 1e-16], dtype=torch.float64)).tolist() == [0, 2]


def test_each_step_draws_anew():
    sampler = SeededSampling([3])
    scores, ids = torch.zeros(1, 50), torch.zeros(1, 1, dtype=torch.long)
    tokens = {sampler(ids, scores).argmax(-1).item() for _ in range(200)}
    assert len(tokens) > 30
