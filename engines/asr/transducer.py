"""Speech recognition by transducers: RNN-T, and TDT, which also predicts how far to go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from transformers import AutoModelForRNNT, AutoModelForTDT, PreTrainedModel

from speechiq.core.clip import SAMPLING_RATE
from speechiq.engines.asr.chunked import ChunkedASR, Spent

#: Ten symbols for each frame of 80 ms, the blank among them: what only a model that is caught in a loop reaches.
STEPS_PER_S = 125


class TransducerASR(ChunkedASR):
    """Greedy decoding by the model's own `generate`; long clips in pieces, see `ChunkedASR`."""

    def decode_chunks(self, model: PreTrainedModel, pieces: Sequence[np.ndarray]) -> list[list[str]]:
        steps = [math.ceil(STEPS_PER_S * len(piece) / SAMPLING_RATE) for piece in pieces]
        found = model.generate(
            **self.features(model, pieces),
            max_new_tokens=max(steps),
            stopping_criteria=[Spent([1 + limit for limit in steps])],
        )
        texts = self.processor.batch_decode(found.sequences, skip_special_tokens=True)
        return [[text.strip()] for text in texts]

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"steps_per_s": STEPS_PER_S}


class TDTASR(TransducerASR):
    """A token-and-duration transducer (parakeet_tdt)."""

    model_class = AutoModelForTDT


class RNNTASR(TransducerASR):
    """A recurrent neural network transducer (parakeet_rnnt, nemotron)."""

    model_class = AutoModelForRNNT
