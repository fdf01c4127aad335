"""Embed texts with a language model: the last layer's state at the token that predicts the next word.

States are cached on disk: the references of a data set are embedded once for all systems, and the model is loaded
only for new texts.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from speechiq.core.checkpoints.names import is_language_model
from speechiq.core.console import say
from speechiq.metrics.distance.language_model import DTYPES, TEMPLATES, LanguageModel
from speechiq.metrics.distance.text_model import Role, as_vectors, check_checkpoint, read_models, read_texts
from speechiq.metrics.models import load_model
from speechiq.metrics.words.normalizer import TEXTS

DEFAULT_EMBEDDER = "meta-llama/Llama-3.1-8B-Instruct"
INSTEAD = (
    f"name another embedder, such as --metadata embedder=demo:SmolLM2-135M-Instruct (`siq demo fetch`), which needs no "
    f"hub; {DEFAULT_EMBEDDER} is gated: accept its license on its page and run `hf auth login`"
)
OPTIONS = {"embedder_template": TEMPLATES, "embedder_text": TEXTS, "embedder_dtype": DTYPES}
#: Share of the tokens of references that may be unknown or parts of characters without a warning.
MOST_PARTS = 0.3
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

    They are `embedder`, `embedder_template` (`plain`, or `chat`: the prompt as a user's turn of the model's chat
    template), `embedder_text` (`raw`, or the normalizer that is applied to both texts) and `embedder_dtype`.
    """
    embedding = read_models(metadata, {"embedder": DEFAULT_EMBEDDER}, OPTIONS)
    check_checkpoint(ROLE, embedding["embedder"])
    return embedding


def embed(
    texts: Sequence[str],
    name: str,
    template: str = "plain",
    dtype: str = "float32",
    owners: Mapping[str, str] | None = None,
) -> np.ndarray:
    """Return the state of each text by a language model, (texts, hidden size), float32; cached ones are read."""
    load_model(LanguageModel, ROLE, name, dtype).check_template(template)
    reading = "chat" if template == "chat" else "last"
    stage = {"template": template}
    rows = read_texts(LanguageModel, ROLE, name, texts, owners or {}, dtype=dtype, reading=reading, stage=stage)
    return as_vectors(rows)


def warn_unknown_script(texts: Sequence[str], name: str, dtype: str) -> None:
    """Say that the vocabulary of an embedder does not have the script of texts, if so.

    More than `MOST_PARTS` of their tokens are unknown then, or parts of a character, such as bytes.
    """
    tokenizer = load_model(LanguageModel, ROLE, name, dtype).tokenizer
    counts = Counter(chain.from_iterable(tokenizer(list(texts), add_special_tokens=False).input_ids))
    parts = sum(
        count
        for token, count in counts.items()
        if token == tokenizer.unk_token_id or "\N{REPLACEMENT CHARACTER}" in tokenizer.decode([token])
    )
    share = parts / (counts.total() or 1)
    if share > MOST_PARTS:
        say(
            f"embedder={name}: {100 * share:.0f} % of the tokens of the references are unknown or parts"
            " of characters, so its similarities mean little for this script; name an embedder that was trained on it"
        )
