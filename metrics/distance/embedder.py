"""Embed texts with a language model: the last layer's state at the token that predicts the next word.

States are cached on disk: the references of a data set are embedded once for all systems, and the model is loaded
only for new texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import StageCache, cached
from speechiq.core.cache.store import store_folder
from speechiq.core.checkpoints.identity import identity
from speechiq.core.checkpoints.names import is_language_model
from speechiq.core.errors import SpeechIQError
from speechiq.core.usage import usage
from speechiq.metrics.distance.text_model import (
    NO_NAMES,
    Role,
    TextModel,
    Tokens,
    as_vectors,
    check_checkpoint,
    check_name,
)
from speechiq.metrics.words.normalizer import RULES

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

DEFAULT_EMBEDDER = "meta-llama/Llama-3.1-8B-Instruct"
INSTEAD = (
    f"name another embedder, such as --metadata embedder=demo:SmolLM2-135M-Instruct (`siq demo fetch`), which needs no "
    f"hub; {DEFAULT_EMBEDDER} is gated: accept its license on its page and run `hf auth login`"
)
OPTIONS = {
    "embedder_template": ("plain", "chat"),
    "embedder_text": ("raw", *RULES),
    "embedder_dtype": ("float32", "bfloat16", "float16"),
}
ROLE = Role(
    "embedder",
    "AutoModel",
    is_language_model,
    f"a language model; name a causal language model, such as --metadata embedder={DEFAULT_EMBEDDER}",
    INSTEAD,
    "--metadata embedder_dtype=bfloat16",
)


def read_embedding(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the embedder and its options from a task's metadata, with the default of each that is missing.

    Returns:
        `embedder`, `embedder_template` (`plain`, or `chat`: the prompt as a user's turn of the model's chat
        template), `embedder_text` (`raw`, or the normalizer that is applied to both texts) and
        `embedder_dtype`, the dtype of the embedder.

    Raises:
        SpeechIQError: The embedder is not a language model, or an option has an unknown value.
    """
    embedding = {"embedder": DEFAULT_EMBEDDER} | {option: known[0] for option, known in OPTIONS.items()}
    embedding |= {option: metadata[option] for option in embedding if option in metadata}
    for option, known in OPTIONS.items():
        if embedding[option] not in known:
            raise SpeechIQError(f"{option}={embedding[option]}: unknown; known are {', '.join(known)}")
    check_embedder(check_name("embedder", embedding["embedder"]))
    return embedding


def check_embedder(name: str) -> PreTrainedConfig:
    """Refuse an embedder that is damaged or not a language model, by its config and the headers of its weights.

    Returns:
        The embedder's config.

    Raises:
        SpeechIQError: No config has that name, it belongs to another kind of model, or files are cut off or missing.
    """
    return check_checkpoint(ROLE, name)


def embed(
    texts: Sequence[str],
    name: str,
    template: str = "plain",
    dtype: str = "float32",
    owners: Mapping[str, str] | None = None,
) -> np.ndarray:
    """Return the state of each text, shape (texts, hidden size), float32; states in the cache are not computed again.

    Args:
        texts: The texts to embed.
        name: See `Embedder`.
        template: See `Embedder`.
        dtype: See `Embedder`.
        owners: Text -> its name in errors.

    Raises:
        SpeechIQError: A text is longer than the embedder's context.
    """

    def compute(new: list[str], on_result: OnResult) -> None:
        load_embedder(name, template, dtype).embed(new, on_result, owners or {})

    rows = cached(_stage_cache(name, template, dtype, store_folder()), texts, str, compute, str)
    return as_vectors(rows)


@cache
def _stage_cache(name: str, template: str, dtype: str, folder: Path | None) -> StageCache:
    stage = {"stage": "embedder", "model": name, "dtype": dtype, "template": template, **identity(name)}
    return StageCache(stage, folder)


class Embedder(TextModel):
    """A causal language model whose hidden states are read.

    Args:
        name: Hub id, folder, or `demo:NAME`.
        template: `plain` or `chat`.
        dtype: See `TextModel`.
        batch_size: See `TextModel`.

    Raises:
        SpeechIQError: The model is not a language model, has no chat template for `chat`, or is too large.
    """

    role = ROLE

    def __init__(
        self, name: str, template: str = "plain", dtype: str = "float32", batch_size: int | None = None
    ) -> None:
        super().__init__(name, dtype, batch_size)
        self.template = template
        if template == "chat" and self.tokenizer.chat_template is None:
            raise SpeechIQError(f"embedder={name}: has no chat template; leave embedder_template plain")

    def embed(self, texts: Sequence[str], on_result: OnResult, owners: Mapping[str, str] = NO_NAMES) -> None:
        """Pass the last hidden state at the last token of each text to `on_result`, in base64; see `TextModel.run`.

        Raises:
            SpeechIQError: A text is longer than the model's context, or a state is not a number.
        """
        self.run(texts, self._tokenize(texts), self._read, on_result, owners)

    def _read(self, batch: Sequence[Tokens]) -> list[str]:
        import torch

        ids, mask, last = self.pad(batch)
        hidden = self.load()(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
        usage["embeddings"] += len(batch)
        return self.as_rows(hidden[torch.arange(len(batch)), last])

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        if self.template == "plain":
            tokens: list[list[int]] = self.tokenizer(list(texts)).input_ids
            return tokens
        turns = [[{"role": "user", "content": text}] for text in texts]
        tokens = self.tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=True)["input_ids"]
        return tokens


@lru_cache(maxsize=1)
def load_embedder(name: str, template: str = "plain", dtype: str = "float32") -> Embedder:
    """Return the embedder `name`; the last one that was loaded stays in memory."""
    return Embedder(name, template, dtype)
