"""Texts as a language model holds them: the last layer's state at the token that predicts the next word.

A text's state is kept in the response store, so that the references of a data set are embedded once for all
systems ever scored, and the model is loaded only where a text is new.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from speechiq.core.checkpoints import is_language_model, read_config, resolve
from speechiq.core.errors import SpeechIQError
from speechiq.core.identity import identity
from speechiq.core.passes import passes
from speechiq.core.progress import progress_bar
from speechiq.core.store import Shelf, store_folder, through

DEFAULT_EMBEDDER = "meta-llama/Llama-3.1-8B-Instruct"
TOKENS_PER_BATCH = 4096
TEMPLATES = ("plain", "chat")
TEXTS = ("raw", "english", "basic")


def read_embedding(told: Mapping[str, Any]) -> dict[str, str]:
    """How texts are embedded, as a task's metadata tells it, with what it does not tell.

    Returns:
        `embedder`, `embedder_template` (`plain`, or `chat`: the prompt as a user's turn of the model's chat
        template) and `embedder_text` (`raw`, or the name of Whisper's normaliser that both texts go through).

    Raises:
        SpeechIQError: an embedder that is no language model, or an option that is none.
    """
    embedding = {"embedder": DEFAULT_EMBEDDER, "embedder_template": TEMPLATES[0], "embedder_text": TEXTS[0]}
    embedding |= {option: told[option] for option in embedding if option in told}
    for option, known in (("embedder_template", TEMPLATES), ("embedder_text", TEXTS)):
        if embedding[option] not in known:
            raise SpeechIQError(f"{option}={embedding[option]}: unknown; known are {', '.join(known)}")
    check_embedder(embedding["embedder"])
    return embedding


def check_embedder(name: str) -> None:
    """Refuse an embedder that is no language model, by its config alone.

    Raises:
        SpeechIQError: no config under that name, or one of another kind of model.
    """
    config = read_config(name)
    if not is_language_model(config):
        raise SpeechIQError(
            f"embedder={name}: a {config.model_type} model is no language model; name a causal language "
            f"model, such as --metadata embedder={DEFAULT_EMBEDDER}"
        )


def embed(texts: Sequence[str], name: str, template: str = TEMPLATES[0]) -> np.ndarray:
    """The state of each text, shape (texts, hidden size), float32; a text that is known is not read again."""

    def compute(new: list[str], keep: Callable) -> None:
        load_embedder(name, template).embed(new, keep)

    rows = through(_shelf(name, template, store_folder()), texts, str, compute)
    return np.stack([np.frombuffer(base64.b64decode(row), "<f4") for row in rows])


@cache
def _shelf(name: str, template: str, folder: Path | None) -> Shelf:
    stage = {"stage": "embedder", "model": name, "dtype": "float32", "template": template, **identity(name)}
    return Shelf(stage, folder)


class Embedder:
    """A causal language model read for its hidden states, in float32.

    Args:
        name: hub id, folder, or `demo:NAME`.
        template: `plain` or `chat`.

    Raises:
        SpeechIQError: no language model, or `chat` where the model has no chat template.
    """

    def __init__(self, name: str, template: str = TEMPLATES[0]) -> None:
        import torch
        from accelerate import PartialState
        from transformers import AutoModel, AutoTokenizer

        check_embedder(name)
        place = resolve(name)
        self.device, self.template = PartialState().device, template
        self.tokenizer = AutoTokenizer.from_pretrained(place)
        if template == "chat" and self.tokenizer.chat_template is None:
            raise SpeechIQError(f"embedder={name}: has no chat template; leave embedder_template plain")
        self.model = AutoModel.from_pretrained(place, dtype=torch.float32).to(self.device).eval()

    def embed(self, texts: Sequence[str], keep: Callable[[Sequence[int], list[str]], None]) -> None:
        """Last hidden state at the last token of each text.

        Args:
            texts: what is embedded.
            keep: called after each batch with the places of its texts and their states, little-endian
                float32 in base64.

        Batches hold texts of like length, padded on the right, so that a text's state does not depend on
        the texts beside it, to 1e-5. On a CPU, where batches save nothing, each text is read alone, and its
        state is the same to the last bit.
        """
        import torch

        tokens = self._tokenise(texts)
        with progress_bar(total=len(tokens), verb="embedding", unit="text") as bar, torch.inference_mode():
            for batch in _batches(tokens, 1 if self.device.type == "cpu" else TOKENS_PER_BATCH):
                rows = [torch.tensor(tokens[i], device=self.device) for i in batch]
                ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
                lengths = torch.tensor([len(row) for row in rows], device=self.device)
                mask = (torch.arange(ids.shape[1], device=self.device) < lengths[:, None]).long()
                hidden = self.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
                states = hidden[torch.arange(len(rows)), lengths - 1].float().cpu().numpy().astype("<f4")
                keep(batch, [base64.b64encode(state.tobytes()).decode() for state in states])
                passes["embeddings"] += len(batch)
                bar.update(len(batch))

    def _tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        if self.template == "plain":
            return self.tokenizer(list(texts)).input_ids
        turns = [[{"role": "user", "content": text}] for text in texts]
        return self.tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=True)["input_ids"]


def _batches(tokens: Sequence[Sequence[int]], room: int) -> Iterable[list[int]]:
    batch: list[int] = []
    for i in sorted(range(len(tokens)), key=lambda i: len(tokens[i]), reverse=True):
        if batch and (len(batch) + 1) * len(tokens[batch[0]]) > room:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


@lru_cache(maxsize=1)
def load_embedder(name: str, template: str = TEMPLATES[0]) -> Embedder:
    """The embedder `name`; the last one asked for stays in memory."""
    return Embedder(name, template)
