"""Check that prompt and answer fit into the number of tokens that a language model takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from speechiq.core.errors import SpeechIQError

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedTokenizerBase

#: Ways of stretching rotary positions that multiply the positions of the config, as vLLM counts them. With others
#: (llama3, longrope) `max_position_embeddings` is the stretched number already.
STRETCHING = ("linear", "dynamic", "yarn")
#: Tokenizers without a limit have `model_max_length` of 1e30; no context comes near this.
ENDLESS = 10**9
#: No usual tokenizer makes more tokens of a text than one per so many bytes.
BYTES_PER_TOKEN = 2


def count_by_bytes(text: str) -> int:
    """Return how many tokens a text has at most, for a model whose tokenizer is not known."""
    return len(text.encode()) // BYTES_PER_TOKEN


def read_context(config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase | None = None) -> int | None:
    """Return the most tokens that a model takes, by its config, else by its tokenizer; None if neither has a limit.

    A sliding window is not counted: it forgets, and takes more.

    Args:
        config: of `transformers`; of a model with several parts that of its text decoder counts.
        tokenizer: of the same checkpoint.

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
    """Return how many rotary positions there are, if they are stretched for the whole model."""
    if not isinstance(rope, dict) or rope.get("rope_type") not in STRETCHING:
        return positions
    return int((rope.get("original_max_position_embeddings") or positions) * (rope.get("factor") or 1.0))


def check_tokens(model: str, item: str, ids: Sequence[int], more: int, context: int | None, fix: str) -> None:
    """Refuse a text that a model cannot read whole.

    Args:
        model: its name.
        item: what is read, in words.
        ids: of its tokens.
        more: tokens that the model may write after it.
        context: see `read_context`.
        fix: what to do.

    Raises:
        SpeechIQError: more tokens than the model takes.
    """
    if context is not None and len(ids) + more > context:
        answer = f" and {more:,} for the answer" if more else ""
        raise SpeechIQError(f"{model}: {item} has {len(ids):,} tokens{answer}, but the model takes {context:,}; {fix}")
