"""Run recognizers that decode frame by frame: CTC (wav2vec2, parakeet_ctc, ...) and transducers (RNN-T, TDT)."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from transformers import (
    AutoModelForCTC,
    AutoModelForRNNT,
    AutoModelForTDT,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from speechiq.core.clip import SAMPLING_RATE
from speechiq.core.errors import SpeechIQError
from speechiq.engines.asr.checkpoint import ChunkedASR, ChunkedOptions, TokenBudget
from speechiq.engines.base import Setup

#: Ten symbols per frame of 80 ms, blanks included; only a model that repeats itself without end writes more.
STEPS_PER_S = 125


class CTCASR(ChunkedASR):
    """Decode greedily: the most likely token of each frame, repeats merged, blanks dropped.

    Only audio of equal length shares a batch, because many of these encoders let padding leak into the result, despite
    the attention mask.
    """

    model_class = AutoModelForCTC
    padded = False

    def __init__(self, model: str, options: ChunkedOptions, setup: Setup) -> None:
        super().__init__(model, options, setup)
        architectures = self.checkpoint.config.architectures or []
        if architectures and not any("CTC" in name for name in architectures):
            raise SpeechIQError(
                model,
                f"its architecture is {architectures[0]}, which writes no text",
                "give a checkpoint that was trained for recognition",
            )

    def decode_chunks(self, model: PreTrainedModel, chunks: Sequence[np.ndarray]) -> list[list[str]]:
        """Return the one transcript of each chunk; see `ChunkedASR.decode_chunks`."""
        features = self.features(model, chunks)
        # `generate`, where a model has it, blanks frames past the end.
        tokens = model.generate(**features) if hasattr(model, "generate") else model(**features).logits.argmax(-1)
        blank = self.checkpoint.config.pad_token_id
        return [[collapse(self.processor.tokenizer, frames, blank)] for frames in tokens.tolist()]


def collapse(tokenizer: PreTrainedTokenizerBase, frames: Sequence[int], blank: int) -> str:
    """Return the text of one token per frame: repeats are merged, then blanks are dropped.

    The tokenizer does not do this, because some drop special tokens first, the blank among them, and then merge the
    "ll" of "hello".
    """
    ids = [token for token, _ in groupby(frames) if token != blank]
    return tokenizer.decode(ids, skip_special_tokens=True, group_tokens=False).strip()


class TransducerASR(ChunkedASR):
    """Decode greedily by the model's own `generate`."""

    def decode_chunks(self, model: PreTrainedModel, chunks: Sequence[np.ndarray]) -> list[list[str]]:
        """Return the one transcript of each chunk; see `ChunkedASR.decode_chunks`."""
        steps = [math.ceil(STEPS_PER_S * len(chunk) / SAMPLING_RATE) for chunk in chunks]
        output = model.generate(
            **self.features(model, chunks),
            max_new_tokens=max(steps),
            stopping_criteria=[TokenBudget([1 + limit for limit in steps])],
        )
        texts = self.processor.batch_decode(output.sequences, skip_special_tokens=True)
        return [[text.strip()] for text in texts]

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint and the limits of decoding; see `Engine.describe`."""
        return super().describe() | {"steps_per_s": STEPS_PER_S}


class TDTASR(TransducerASR):
    """Run token-and-duration transducers (parakeet_tdt), which also predict how many frames to skip."""

    model_class = AutoModelForTDT


class RNNTASR(TransducerASR):
    """Run recurrent neural network transducers (parakeet_rnnt, nemotron)."""

    model_class = AutoModelForRNNT
