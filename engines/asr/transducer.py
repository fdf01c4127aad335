"""Run transducers: RNN-T, and TDT, which also predicts how many frames to skip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from transformers import AutoModelForRNNT, AutoModelForTDT, PreTrainedModel

from speechiq.core.clip import SAMPLING_RATE
from speechiq.engines.asr.chunked import ChunkedASR, TokenBudget

#: Ten symbols per frame of 80 ms, blanks included; only a model that repeats itself without end writes more.
STEPS_PER_S = 125


class TransducerASR(ChunkedASR):
    """Decode greedily by the model's own `generate`; see `ChunkedASR` for long clips."""

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
    """Run token-and-duration transducers (parakeet_tdt)."""

    model_class = AutoModelForTDT


class RNNTASR(TransducerASR):
    """Run recurrent neural network transducers (parakeet_rnnt, nemotron)."""

    model_class = AutoModelForRNNT
