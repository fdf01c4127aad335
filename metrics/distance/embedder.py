"""Embed texts with a language model: the last layer's state at the token that predicts the next word.

States are cached on disk: the references of a data set are embedded once for all systems, and the model is loaded
only for new texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from speechiq.core.checkpoints.names import is_language_model
from speechiq.core.errors import SpeechIQError
from speechiq.metrics.distance.language_model import DTYPES, TEMPLATES, LanguageModel
from speechiq.metrics.distance.text_model import Role, as_vectors, check_checkpoint, check_name, read_texts
from speechiq.metrics.models import load_model
from speechiq.metrics.words.normalizer import RULES

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

DEFAULT_EMBEDDER = "meta-llama/Llama-3.1-8B-Instruct"
INSTEAD = (
    f"name another embedder, such as --metadata embedder=demo:SmolLM2-135M-Instruct (`siq demo fetch`), which needs no "
    f"hub; {DEFAULT_EMBEDDER} is gated: accept its license on its page and run `hf auth login`"
)
OPTIONS = {
    "embedder_template": TEMPLATES,
    "embedder_text": ("raw", *RULES),
    "embedder_dtype": DTYPES,
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
        name: Hub id, folder, or `demo:NAME` of a language model.
        template: `plain` or `chat`.
        dtype: `float32`, `bfloat16` or `float16`.
        owners: Text -> its name in errors.

    Raises:
        SpeechIQError: A text is longer than the embedder's context, or the model has no chat template for `chat`.
    """
    if template == "chat" and load_model(LanguageModel, ROLE, name, dtype).tokenizer.chat_template is None:
        raise SpeechIQError(f"embedder={name}: has no chat template; leave embedder_template plain")
    reading = "chat" if template == "chat" else "last"
    stage = {"template": template}
    rows = read_texts(LanguageModel, ROLE, name, texts, owners or {}, dtype=dtype, reading=reading, stage=stage)
    return as_vectors(rows)
