"""Speech recognition by connectionist temporal classification (wav2vec2, hubert, wavlm, parakeet_ctc, ...)."""

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
from speechiq.engines.asr.chunked import batches
from speechiq.engines.base import Setup
from speechiq.engines.options import DAY_S, UNIT

CHUNK_S, STRIDE_S = 30.0, 5.0
#: A frame lasts 10, 20, 40, ... or 320 ms; chunks begin where frames of any of these lengths begin. In samples.
SHORTEST_FRAME = SAMPLING_RATE // 100
GRID = 32 * SHORTEST_FRAME
Seconds = Annotated[float, Meta(ge=0, le=DAY_S, extra={UNIT: "seconds"})]


class CTCOptions(Loading, frozen=True, kw_only=True):
    """Define the options of `CTCASR`."""

    chunk_s: Annotated[Seconds, Meta(description="Length of a chunk.")] = CHUNK_S
    stride_s: Annotated[Seconds, Meta(description="Part at either end of a chunk that only gives context.")] = STRIDE_S


class CTCASR(CheckpointASR):
    """Greedy decoding: the likeliest token of each frame, repeats merged, blanks dropped.

    A clip longer than a chunk is heard in chunks that overlap; of each only the frames count that are nearer to its
    middle than to another's, so that every frame counts once and has been heard in its surroundings.

    Args:
        model, setup: see `CheckpointASR`. Sounds of different lengths are never padded to share a batch, because
            many of these encoders let padding leak into the result, whatever the attention mask says.
        options: see `CTCOptions`.

    Raises:
        SpeechIQError: a checkpoint without a CTC head, or chunks of which nothing counts.
    """

    model_class = AutoModelForCTC
    record = CTCOptions

    def __init__(self, model: str, options: CTCOptions, setup: Setup) -> None:
        self.chunk, self.step = _measure(options.chunk_s, options.stride_s)
        super().__init__(model, options, setup)
        architectures = self.checkpoint.config.architectures or []
        if architectures and not any("CTC" in name for name in architectures):
            raise SpeechIQError(
                f"{model}: holds a {architectures[0]}, which writes no text; give a checkpoint that was trained "
                f"for recognition"
            )
        self.chunk_s, self.stride_s = options.chunk_s, options.stride_s

    def decode(self, model: PreTrainedModel, sounds: Sequence[np.ndarray]) -> list[tuple[str, ...]]:
        chunks = [chunks_of(len(sound), self.chunk, self.step) for sound in sounds]
        heard = [sound[start:stop] for sound, part in zip(sounds, chunks, strict=True) for start, stop in part]
        likeliest: dict[int, torch.Tensor] = {}
        for batch in batches([len(chunk) for chunk in heard], len(sounds), padded=False):
            found = _choose(model, self.features(model, [heard[i] for i in batch]))
            likeliest.update(zip(batch, found.cpu(), strict=True))
        frames = (likeliest[i] for i in range(len(heard)))
        joined = [merge(part, [next(frames) for _ in part]) for part in chunks]
        blank = self.checkpoint.config.pad_token_id
        return [(spell(self.processor.tokenizer, ids.tolist(), blank),) for ids in joined]

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"chunk_s": self.chunk_s, "stride_s": self.stride_s}


def _choose(model: PreTrainedModel, features: BatchFeature) -> torch.Tensor:
    """The likeliest token of each frame, shape (sounds, frames); models with frames past the end blank those."""
    if hasattr(model, "generate"):
        return model.generate(**features)
    return model(**features).logits.argmax(-1)


def spell(tokenizer: PreTrainedTokenizerBase, frames: Sequence[int], blank: int) -> str:
    """The text of frame-wise tokens: repeats merged, then blanks dropped.

    Not left to the tokeniser, for some drop special tokens first, the blank among them, and merge "ll" of "hello".
    """
    ids = [token for token, _ in groupby(frames) if token != blank]
    return tokenizer.decode(ids, skip_special_tokens=True, group_tokens=False).strip()


def _measure(chunk_s: float, stride_s: float) -> tuple[int, int]:
    """Samples of a chunk, and from the beginning of one to that of the next."""
    chunk = int(chunk_s * SAMPLING_RATE)
    step = (chunk - 2 * int(stride_s * SAMPLING_RATE)) // GRID * GRID
    if step <= 0:
        raise SpeechIQError(
            f"asr_chunk_s={chunk_s}: nothing is left of a chunk between two strides of {stride_s} s; "
            f"give twice asr_stride_s and a second more"
        )
    return chunk, step


def chunks_of(samples: int, chunk: int, step: int) -> list[tuple[int, int]]:
    """`(start, stop)` of each chunk, in samples.

    >>> chunks_of(10, 12, 6), chunks_of(20, 12, 6)
    ([(0, 10)], [(0, 12), (6, 18), (12, 20)])
    """
    more = max(0, -(-(samples - chunk) // step))
    return [(i * step, min(i * step + chunk, samples)) for i in range(more + 1)]


def merge(chunks: Sequence[tuple[int, int]], frames: Sequence[torch.Tensor]) -> torch.Tensor:
    """The frames of a clip from those of its chunks, cut in the middle of each overlap.

    Args:
        chunks: `(start, stop)` of each, in samples.
        frames: of each chunk, shape (frames, ...).
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
