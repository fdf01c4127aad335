"""Check that prompt and answer fit into the context of a language model."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any

from speechiq.core.errors import SpeechIQError

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedTokenizerBase

#: Types of rotary scaling that multiply the positions of the config, as vLLM counts them. With others (llama3,
#: longrope) `max_position_embeddings` is the scaled number already.
STRETCHING = ("linear", "dynamic", "yarn")
#: Tokenizers without a limit have `model_max_length` of 1e30; every real context is shorter than this.
ENDLESS = 10**9
#: Usual tokenizers make at most one token per this number of bytes.
BYTES_PER_TOKEN = 2


def count_by_bytes(text: str) -> int:
    """Return the largest number of tokens of a text, for a model whose tokenizer is unknown."""
    return len(text.encode()) // BYTES_PER_TOKEN


def read_context(config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase | None = None) -> int | None:
    """Return the context in tokens, by the config, else by the tokenizer; None if neither has a limit.

    A sliding window is not a limit: the model takes more tokens and drops the oldest. Of several parts of a model, the
    config of its text decoder counts.

    >>> from transformers import LlamaConfig, MambaConfig
    >>> read_context(LlamaConfig(max_position_embeddings=8192)), read_context(MambaConfig())
    (8192, None)
    """
    text = config.get_text_config(decoder=True)
    positions = getattr(text, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        return max(positions, _stretch(positions, getattr(text, "rope_parameters", None)))
    longest = getattr(tokenizer, "model_max_length", None)
    return longest if isinstance(longest, int) and longest < ENDLESS else None


def _stretch(positions: int, rope: Any) -> int:
    """Return the number of rotary positions, scaled if the config scales them for all layers."""
    if not isinstance(rope, dict) or rope.get("rope_type") not in STRETCHING:
        return positions
    return int((rope.get("original_max_position_embeddings") or positions) * (rope.get("factor") or 1.0))


def check_tokens(model: str, item: str, ids: Sized, more: int, context: int | None, fix: str) -> None:
    """Refuse a text whose tokens, and `more` that the model may write after them, do not fit into the context."""
    if context is not None and len(ids) + more > context:
        answer = f" and {more:,} for the answer" if more else ""
        raise SpeechIQError(model, f"{item} has {len(ids):,} tokens{answer}, but the model takes {context:,}", fix)
