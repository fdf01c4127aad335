"""Sampling that depends on its seed alone, not on the batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from transformers import LogitsProcessor

from speechiq.core.errors import SpeechIQError


def uniforms(seeds: Sequence[int], steps: int) -> np.ndarray:
    """Numbers in [0, 1), shape (seeds, steps): each row from its own seed."""
    return np.stack([np.random.default_rng(seed).random(steps) for seed in seeds])


def draw(logits: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """Sample one of a few choices by inverting the cumulative distribution.

    Args:
        logits: shape (rows, choices), finite.
        numbers: one in [0, 1) a row, shape (rows,).

    Returns:
        Indices, shape (rows,), index i with probability softmax(logits)[i].
    """
    heights = logits.double().softmax(-1).cumsum(-1)
    levels = numbers.to(heights)[:, None] * heights[:, -1:]
    return torch.searchsorted(heights, levels, right=True).squeeze(-1).clamp(max=logits.shape[-1] - 1)


class SeededSampling(LogitsProcessor):
    """Leaves only the sampled token of each row, so that greedy decoding takes it.

    Each token draws a waiting time, exponential with its probability as the rate, and the first one wins. Logits that
    differ by the rounding of another batch almost never change the winner, as they would by inverting a sum over the
    whole vocabulary.

    Args:
        seeds: one a row of the batch.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        self.seeds = seeds
        self.generators: list[torch.Generator] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if not self.generators:
            self.generators = [torch.Generator(scores.device).manual_seed(seed) for seed in self.seeds]
        numbers = torch.stack([torch.rand(scores.shape[-1], generator=g, device=g.device) for g in self.generators])
        waits = -numbers.log() / scores.float().softmax(-1)
        return torch.full_like(scores, -torch.inf).scatter(-1, waits.argmin(-1, keepdim=True), 0.0)


class RefuseNaN(LogitsProcessor):
    """Stops a model whose numbers overflow, before its tokens look like an answer.

    Args:
        name: of the model.
        dtype: in which it computes.
    """

    def __init__(self, name: str, dtype: torch.dtype) -> None:
        self.name, self.dtype = name, dtype

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        refuse_nan(scores, self.name, self.dtype)
        return scores


def refuse_nan(numbers: torch.Tensor, name: str, dtype: torch.dtype) -> None:
    """Refuse what a model computed where it is not a number.

    Raises:
        SpeechIQError: naming the model.
    """
    if numbers.isnan().any():
        told = str(dtype).removeprefix("torch.")
        raise SpeechIQError(f"{name}: computes NaN in {told}; give its stage dtype=bfloat16 or float32")
