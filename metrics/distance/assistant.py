"""Read texts with the language model of an assistant: its states, and the geometry of its next-token logits.

The prompts are those of the paper (Liu et al., "Evaluating Speech Recognition Performance Towards Large Language Model
Based Voice Assistants", eqs. 4 to 9 and table 1). Vectors are cached on disk: each text passes the model once for each
prompt, and references are read once for all systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import StageCache, cached
from speechiq.core.cache.store import store_folder
from speechiq.core.checkpoints.identity import identity
from speechiq.core.checkpoints.names import is_encoder, is_language_model
from speechiq.core.errors import SpeechIQError
from speechiq.core.usage import usage
from speechiq.metrics.distance.gram import Head, read_head
from speechiq.metrics.distance.text_model import NO_NAMES, Role, TextModel, Tokens, as_vectors, mean_of_tokens

DEFAULT_ASSISTANT = "meta-llama/Llama-2-13b-chat-hf"
DTYPES = ("float32", "bfloat16", "float16")
#: How the text of `llm_semdist_prompt` gets into the prompt: the paper's plain text, or the model's own chat template.
TEMPLATES = ("plain", "chat")
ROLE = Role(
    "assistant",
    "AutoModelForCausalLM",
    lambda config: is_language_model(config) and not is_encoder(config),
    f"a language model; name a causal language model, such as --metadata assistant={DEFAULT_ASSISTANT}",
    f"name another assistant, such as --metadata assistant=demo:SmolLM2-135M-Instruct (`siq demo fetch`), which needs "
    f"no hub; {DEFAULT_ASSISTANT} is gated: accept its license on its page and run `hf auth login`",
    "--metadata assistant_dtype=bfloat16",
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


class Choice(NamedTuple):
    """An assistant and how it is run.

    Attributes:
        name: Hub id, folder, or `demo:NAME`.
        dtype: One of `DTYPES`.
        template: One of `TEMPLATES`.
    """

    name: str
    dtype: str
    template: str


class Assistant(TextModel):
    """A causal language model whose states and logits are read."""

    role = ROLE

    def read(
        self, reading: str, texts: Sequence[str], on_result: OnResult, owners: Mapping[str, str] = NO_NAMES
    ) -> None:
        """Pass what `reading` takes from each text to `on_result`, in base64; see `TextModel.run`.

        Args:
            reading: `raw` (see `_read_raw`), `last` or `chat` (the last layer's state at the last token; of `chat`
                after the text as a user's turn in the chat template), or `logits` (the logits of the next token).
            texts: With their prompts.
            on_result: Called after each batch.
            owners: Text -> its name in errors.

        Raises:
            SpeechIQError: A text is longer than the model's context, or a value is not a number.
        """
        tokens = self._tokenize_chat(texts) if reading == "chat" else self._tokenize(texts)
        reader = {"raw": self._read_raw, "logits": self._read_logits}.get(reading, self._read_last)
        self.run(texts, tokens, reader, on_result, owners)

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        tokens: list[list[int]] = self.tokenizer(list(texts)).input_ids
        return [row or self.start() for row in tokens]

    def _tokenize_chat(self, texts: Sequence[str]) -> list[list[int]]:
        turns = [[{"role": "user", "content": text}] for text in texts]
        tokens: list[list[int]] = self.tokenizer.apply_chat_template(
            turns, add_generation_prompt=True, return_dict=True
        )["input_ids"]
        return tokens

    def _states(self, batch: Sequence[Tokens], **options: Any) -> tuple[Any, Any]:
        """Return the padded batch and the output of the model below its head."""
        padded = self.pad(batch)
        usage["embeddings"] += len(batch)
        body = self.load().base_model
        return padded, body(input_ids=padded.ids, attention_mask=padded.mask, use_cache=False, **options)

    def _read_last(self, batch: Sequence[Tokens]) -> list[str]:
        import torch

        padded, output = self._states(batch)
        return self.as_rows(output.last_hidden_state[torch.arange(len(batch)), padded.last])

    def _read_raw(self, batch: Sequence[Tokens]) -> list[str]:
        """Return the three sentence embeddings of table 4, one after the other.

        They are the last layer's state at the last token; the mean of the first, the middle and the last layer's state
        at the last token; and the mean of the last layer's states over all tokens. Layer l of L is `hidden_states[l]`,
        so that the first is not the embedding layer; the middle one is L // 2, the paper's 20th of 40. Only the last
        layer's state is after the final norm.
        """
        import torch

        padded, output = self._states(batch, output_hidden_states=True)
        rows, layers = torch.arange(len(batch)), output.hidden_states
        states = output.last_hidden_state
        last = states[rows, padded.last].float()
        inner = [layers[layer][rows, padded.last].float() for layer in (1, max(1, (len(layers) - 1) // 2))]
        tokens = mean_of_tokens(states, padded.mask)
        return self.as_rows(torch.cat([last, (last + inner[0] + inner[1]) / 3, tokens], dim=1))

    def _read_logits(self, batch: Sequence[Tokens]) -> list[str]:
        import torch

        ids, mask, last = self.pad(batch)
        usage["embeddings"] += len(batch)
        places, column = torch.unique(last, return_inverse=True)
        output = self.load()(input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=places)
        return self.as_rows(output.logits[torch.arange(len(batch)), column])


def read_vectors(reading: str, texts: Sequence[str], choice: Choice, owners: Mapping[str, str]) -> np.ndarray:
    """Return what `Assistant.read` takes from each text, (texts, size), float32; cached texts are not read again.

    Raises:
        SpeechIQError: As for `Assistant.read`.
    """

    def compute(new: list[str], on_result: OnResult) -> None:
        load_assistant(choice.name, choice.dtype).read(reading, new, on_result, owners)

    stage = _stage_cache(choice.name, choice.dtype, reading, store_folder())
    return as_vectors(cached(stage, texts, str, compute, str))


def find_head(choice: Choice) -> Head:
    """Return the head of the assistant, from the response cache if it was read before."""
    folder = _stage_cache(choice.name, choice.dtype, "last", store_folder()).folder
    return _find_head(choice.name, choice.dtype, folder)


@lru_cache(maxsize=1)
def _find_head(name: str, dtype: str, folder: Path | None) -> Head:
    return read_head(folder, lambda: load_assistant(name, dtype))


def check_assistant(choice: Choice) -> None:
    """Refuse an assistant that cannot be used, before any text is read.

    Raises:
        SpeechIQError: It is damaged, not a language model, or has no chat template where one is asked for.
    """
    tokenizer = load_assistant(choice.name, choice.dtype).tokenizer
    if choice.template == "chat" and tokenizer.chat_template is None:
        raise SpeechIQError(
            f"assistant={choice.name}: has no chat template, which assistant_template=chat needs for "
            f"llm_semdist_prompt; leave assistant_template plain, with which no distance needs one"
        )


@cache
def _stage_cache(name: str, dtype: str, reading: str, folder: Path | None) -> StageCache:
    stage = {"stage": "assistant", "model": name, "dtype": dtype, "reading": reading, **identity(name)}
    return StageCache(stage, folder)


@lru_cache(maxsize=1)
def load_assistant(name: str, dtype: str = "float32") -> Assistant:
    """Return the assistant `name`; the last one that was loaded stays in memory."""
    return Assistant(name, dtype)
