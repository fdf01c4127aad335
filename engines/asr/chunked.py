"""Recognizers that hear a limited stretch at a time: long clips in pieces, pieces in batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Annotated, Any

import numpy as np
import torch
from msgspec import Meta
from transformers import PreTrainedModel, StoppingCriteria

from speechiq.core.clip import SAMPLING_RATE
from speechiq.engines._shared.loading import Loading
from speechiq.engines._shared.windows import split
from speechiq.engines.asr.checkpoint import CheckpointASR
from speechiq.engines.asr.nbest import join
from speechiq.engines.base import Setup
from speechiq.engines.options import ChunkSeconds

WINDOW_S = 30.0
#: More than anybody says, in any tokens; what a model writes beyond that is no transcript.
TOKENS_PER_S = 25


class ChunkedOptions(Loading, frozen=True, kw_only=True):
    """Define the options of `ChunkedASR`."""

    window_s: Annotated[
        ChunkSeconds,
        Meta(description="Longest chunk of a long clip; most of these models were trained on 30 s or less."),
    ] = WINDOW_S


class ChunkedASR(CheckpointASR):
    """Parts long clips where the speech pauses and joins what the pieces say.

    Args:
        model, setup: see `CheckpointASR`.
        options: see `ChunkedOptions`.
    """

    record = ChunkedOptions

    def __init__(self, model: str, options: ChunkedOptions, setup: Setup) -> None:
        super().__init__(model, options, setup)
        self.window_s = options.window_s
        self._padded: bool | None = None

    def decode(self, model: PreTrainedModel, sounds: Sequence[np.ndarray]) -> list[tuple[str, ...]]:
        parts = [[sound[start:stop] for start, stop in split(sound, self.window_s)] for sound in sounds]
        pieces = [piece for part in parts for piece in part]
        if self._padded is None:
            self._padded = not padding_shows(lambda batch: self.encode(model, batch), model.dtype)
        texts: dict[int, list[str]] = {}
        for batch in batches([len(piece) for piece in pieces], len(sounds), padded=self._padded):
            texts.update(zip(batch, self.decode_chunks(model, [pieces[i] for i in batch]), strict=True))
        said = (texts[i] for i in range(len(pieces)))
        return [join([next(said) for _ in part], " ") for part in parts]

    @abstractmethod
    def decode_chunks(self, model: PreTrainedModel, pieces: Sequence[np.ndarray]) -> list[list[str]]:
        """What each piece says, best first; no piece is longer than `window_s`."""

    def encode(self, model: PreTrainedModel, pieces: Sequence[np.ndarray]) -> torch.Tensor:
        """What the encoder makes of the pieces, shape (pieces, frames, channels)."""
        inputs = self.features(model, pieces)
        fed = {name: inputs[name] for name in self.processor.feature_extractor.model_input_names if name in inputs}
        return model.get_encoder()(**fed).last_hidden_state

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"window_s": self.window_s}


class Spent(StoppingCriteria):
    """Ends the text of each piece at its own length, whatever else is in the batch.

    Args:
        longest: tokens that the text of each piece may have, those it begins with among them.

    Attributes:
        eos_token_id: none. Only where a criterion has this name does `generate` pad rows that have ended; without
            it a transducer goes on writing in a row until the longest of the batch ends.
    """

    eos_token_id = None

    def __init__(self, longest: Sequence[int]) -> None:
        self.longest = torch.tensor(longest)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        longest = self.longest.to(input_ids.device).repeat_interleave(len(input_ids) // len(self.longest))
        return longest <= input_ids.shape[1]


def padding_shows(encode: Callable[[list[np.ndarray]], torch.Tensor], dtype: torch.dtype) -> bool:
    """Whether a sound comes out otherwise beside a longer one, to which it must be padded.

    Many encoders let padding leak into their normalization or their convolutions, whatever the attention mask says.
    """
    noise = np.random.default_rng(0).normal(0, 0.1, 3 * SAMPLING_RATE).astype(np.float32)
    short = noise[: 201 * SAMPLING_RATE // 100]  # frames of 20 to 80 ms all begin before its end
    alone = encode([short])[0].float()
    beside = encode([short, noise])[0, : len(alone)].float()
    off = (beside - alone).norm(dim=-1) / alone.norm(dim=-1)
    return bool((off > torch.finfo(dtype).eps ** 0.5).any())


def batches(lengths: Sequence[int], size: int, *, padded: bool) -> list[list[int]]:
    """Indices in batches, longest first; without padding only what is of one length shares a batch.

    >>> batches([5, 9, 5, 5], 2, padded=False)
    [[1], [0, 2], [3]]
    >>> batches([5, 9, 5, 5], 2, padded=True)
    [[1, 0], [2, 3]]
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    runs = [order] if padded else [list(run) for _, run in groupby(order, key=lengths.__getitem__)]
    return [run[i : i + size] for run in runs for i in range(0, len(run), size)]
