"""Sampling that depends on its seed alone, not on the batch: one random number a row and step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from transformers import LogitsProcessor


def uniforms(seeds: Sequence[int], steps: int) -> np.ndarray:
    """Numbers in [0, 1), shape (seeds, steps): each row from its own seed."""
    return np.stack([np.random.default_rng(seed).random(steps) for seed in seeds])


def draw(logits: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """Sample by inverting the cumulative distribution.

    Args:
        logits: shape (rows, choices).
        numbers: one in [0, 1) a row, shape (rows,).

    Returns:
        Indices, shape (rows,), index i with probability softmax(logits)[i].
    """
    heights = logits.double().softmax(-1).cumsum(-1)
    levels = numbers.to(heights)[:, None] * heights[:, -1:]
    return torch.searchsorted(heights, levels, right=True).squeeze(-1).clamp(max=logits.shape[-1] - 1)


class SeededSampling(LogitsProcessor):
    """Leaves only the sampled token of each row, so that greedy decoding takes it.

    Args:
        seeds: one a row of the batch.
        steps: the most tokens that will be drawn.
    """

    def __init__(self, seeds: Sequence[int], steps: int) -> None:
        self.numbers = torch.from_numpy(uniforms(seeds, steps))
        self.step = 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        tokens = draw(scores, self.numbers[:, self.step])
        self.step += 1
        return torch.full_like(scores, -torch.inf).scatter(-1, tokens[:, None], 0.0)
