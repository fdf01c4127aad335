"""Run recognizers with connectionist temporal classification (wav2vec2, hubert, wavlm, parakeet_ctc, ...)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Annotated, Any

import numpy as np
import torch
from msgspec import Meta
from transformers import AutoModelForCTC, BatchFeature, PreTrainedModel, PreTrainedTokenizerBase

from speechiq.core.clip import SAMPLING_RATE
from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.loading import Loading
from speechiq.engines.asr.checkpoint import CheckpointASR
from speechiq.engines.asr.chunked import make_batches
from speechiq.engines.base import Setup
from speechiq.engines.options import DAY_S, UNIT

CHUNK_S, STRIDE_S = 30.0, 5.0
#: A frame lasts 10, 20, 40, ... or 320 ms; each chunk begins at a frame of every length. In samples.
SHORTEST_FRAME = SAMPLING_RATE // 100
GRID = 32 * SHORTEST_FRAME
Seconds = Annotated[float, Meta(ge=0, le=DAY_S, extra={UNIT: "seconds"})]


class CTCOptions(Loading, frozen=True, kw_only=True):
    """Define the options of `CTCASR`."""

    chunk_s: Annotated[Seconds, Meta(description="Length of a chunk.")] = CHUNK_S
    stride_s: Annotated[Seconds, Meta(description="Part at either end of a chunk that only gives context.")] = STRIDE_S


class CTCASR(CheckpointASR):
    """Decode greedily: the most likely token of each frame, repeats merged, blanks dropped.

    A clip longer than a chunk is processed in chunks that overlap. Of each chunk only the frames nearer to its middle
    than to the middle of another chunk are used, so that every frame is used once and with context on both sides.

    Args:
        model: see `CheckpointASR`.
        options: see `CTCOptions`.
        setup: see `CheckpointASR`. Only audio of equal length shares a batch, because many of these encoders let
            padding leak into the result, despite the attention mask.

    Raises:
        SpeechIQError: a checkpoint without a CTC head, or chunks without a frame that is used.
    """

    model_class = AutoModelForCTC
    record = CTCOptions

    def __init__(self, model: str, options: CTCOptions, setup: Setup) -> None:
        self.chunk, self.step = _count_samples(options.chunk_s, options.stride_s)
        super().__init__(model, options, setup)
        architectures = self.checkpoint.config.architectures or []
        if architectures and not any("CTC" in name for name in architectures):
            raise SpeechIQError(
                f"{model}: its architecture is {architectures[0]}, which writes no text; give a checkpoint that was "
                f"trained for recognition"
            )
        self.chunk_s, self.stride_s = options.chunk_s, options.stride_s

    def decode(self, model: PreTrainedModel, audio: Sequence[np.ndarray]) -> list[tuple[str, ...]]:
        """Return the one transcript of each array."""
        spans = [overlapping_chunks(len(samples), self.chunk, self.step) for samples in audio]
        chunks = [samples[start:stop] for samples, of_clip in zip(audio, spans, strict=True) for start, stop in of_clip]
        tokens: dict[int, torch.Tensor] = {}
        for batch in make_batches([len(chunk) for chunk in chunks], len(audio), padded=False):
            decoded = _choose_tokens(model, self.features(model, [chunks[i] for i in batch]))
            tokens.update(zip(batch, decoded.cpu(), strict=True))
        frames = (tokens[i] for i in range(len(chunks)))
        merged = [merge_frames(of_clip, [next(frames) for _ in of_clip]) for of_clip in spans]
        blank = self.checkpoint.config.pad_token_id
        return [(collapse(self.processor.tokenizer, ids.tolist(), blank),) for ids in merged]

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint and the lengths of chunks; see `Engine.describe`."""
        return super().describe() | {"chunk_s": self.chunk_s, "stride_s": self.stride_s}


def _choose_tokens(model: PreTrainedModel, features: BatchFeature) -> torch.Tensor:
    """Return the most likely token of each frame, shape (arrays, frames); `generate` blanks frames past the end."""
    if hasattr(model, "generate"):
        return model.generate(**features)
    return model(**features).logits.argmax(-1)


def collapse(tokenizer: PreTrainedTokenizerBase, frames: Sequence[int], blank: int) -> str:
    """Return the text of one token per frame: repeats are merged, then blanks are dropped.

    The tokenizer does not do this, because some drop special tokens first, the blank among them, and then merge the
    "ll" of "hello".
    """
    ids = [token for token, _ in groupby(frames) if token != blank]
    return tokenizer.decode(ids, skip_special_tokens=True, group_tokens=False).strip()


def _count_samples(chunk_s: float, stride_s: float) -> tuple[int, int]:
    """Return the samples of a chunk, and the samples from the beginning of one chunk to that of the next."""
    chunk = int(chunk_s * SAMPLING_RATE)
    step = (chunk - 2 * int(stride_s * SAMPLING_RATE)) // GRID * GRID
    if step <= 0:
        raise SpeechIQError(
            f"asr_chunk_s={chunk_s}: nothing is left of a chunk between two strides of {stride_s} s; "
            f"give twice asr_stride_s and a second more"
        )
    return chunk, step


def overlapping_chunks(samples: int, chunk: int, step: int) -> list[tuple[int, int]]:
    """Return `(start, stop)` of each chunk, in samples.

    >>> overlapping_chunks(10, 12, 6), overlapping_chunks(20, 12, 6)
    ([(0, 10)], [(0, 12), (6, 18), (12, 20)])
    """
    more = max(0, -(-(samples - chunk) // step))
    return [(i * step, min(i * step + chunk, samples)) for i in range(more + 1)]


def merge_frames(chunks: Sequence[tuple[int, int]], frames: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the frames of a clip from those of its chunks, cut in the middle of each overlap.

    Args:
        chunks: `(start, stop)` of each, in samples.
        frames: per chunk, shape (frames, ...).
    """
    start, stop = chunks[0]
    frame = SHORTEST_FRAME * 2 ** round(math.log2((stop - start) / len(frames[0]) / SHORTEST_FRAME))
    cuts = [0, *((left + right) // 2 // frame for (_, right), (left, _) in pairwise(chunks)), None]
    return torch.cat(
        [
            part[cut - begin // frame : until and until - begin // frame]
            for part, (begin, _), (cut, until) in zip(frames, chunks, pairwise(cuts), strict=True)
        ]
    )
