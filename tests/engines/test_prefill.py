"""Test how rows of tokens and caches are joined into batches."""

import pytest
import torch
from transformers import DynamicCache, Qwen2Config

from speechiq.engines._shared.prefill import can_join, join_caches, pad


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


def cache_of(tokens, config=None):
    cache = DynamicCache(config=config)
    for layer in range(2):
        cache.update(torch.full((1, 1, tokens, 2), float(tokens)), torch.ones(1, 1, tokens, 2), layer)
    return cache


def test_caches_are_joined_at_their_ends():
    short, long = cache_of(2), cache_of(3)
    joined = join_caches([short, long, short])
    assert joined.layers[1].keys[:, 0, :, 0].tolist() == [[0, 2, 2], [3, 3, 3], [0, 2, 2]]
    assert short.get_seq_length() == 2


def test_caches_that_drop_tokens_are_not_joined():
    sizes = {"num_hidden_layers": 2, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}
    forgetful = cache_of(3, Qwen2Config(**sizes))
    assert can_join(cache_of(3)) and not can_join(forgetful)
    assert join_caches([forgetful]).get_seq_length() == 3
