"""Understand: does a language model grasp the same from the hypothesis as from the reference?

Two one-word prompts hold the text; the embedding of a text under a prompt is the last layer's hidden state
at the prompt's last token, the state that predicts the next word (paper, section 3.2, eqs. 1 and 2). The
similarity of a clip is the lower of the two cosines. An empty hypothesis is embedded like any other text:
as empty brackets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from lm_eval.api.filter import Filter

from speechiq.core.checkpoints import is_language_model, read_config, resolve
from speechiq.core.errors import SpeechIQError
from speechiq.core.response import Response
from speechiq.metrics.normaliser import normalise

PROMPTS = {
    "background": "The background scenario of the speech [{text}] in one word is",
    "summary": "The summary of this speech [{text}] in one word is",
}
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

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Last hidden state at the last token of each text: float32, (texts, hidden size).

        Batches hold texts of like length, padded on the right, so that a text's state does not depend on
        the texts beside it.
        """
        import torch
        from tqdm import tqdm

        tokens = self._tokenise(texts)
        states = np.zeros((len(tokens), self.model.config.get_text_config().hidden_size), np.float32)
        with tqdm(total=len(tokens), desc="embedding", unit="text") as bar, torch.inference_mode():
            for batch in _batches(tokens):
                rows = [torch.tensor(tokens[i], device=self.device) for i in batch]
                ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
                lengths = torch.tensor([len(row) for row in rows], device=self.device)
                mask = (torch.arange(ids.shape[1], device=self.device) < lengths[:, None]).long()
                hidden = self.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
                states[batch] = hidden[torch.arange(len(rows)), lengths - 1].float().cpu().numpy()
                bar.update(len(batch))
        return states

    def _tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        if self.template == "plain":
            return self.tokenizer(list(texts)).input_ids
        turns = [[{"role": "user", "content": text}] for text in texts]
        return self.tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=True)["input_ids"]


def _batches(tokens: Sequence[Sequence[int]]) -> Iterable[list[int]]:
    batch: list[int] = []
    for i in sorted(range(len(tokens)), key=lambda i: len(tokens[i]), reverse=True):
        if batch and (len(batch) + 1) * len(tokens[batch[0]]) > TOKENS_PER_BATCH:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


@lru_cache(maxsize=1)
def load_embedder(name: str, template: str = TEMPLATES[0]) -> Embedder:
    """The embedder `name`; the last one asked for stays in memory."""
    return Embedder(name, template)


def cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Row-wise cosine similarity in float64: (rows, size) and (rows, size) to (rows,)."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.einsum("ij,ij->i", first, second) / norms


class Embed(Filter):
    """lm-eval filter: a clip's hypothesis becomes its cosines with the reference, one a prompt, and how much was heard.

    Each doc names its embedder and how to use it. A text that occurs more than once is embedded once.
    """

    def apply(self, resps: Iterable[str], docs: Sequence[Mapping]) -> list[list[float]]:
        hypotheses = list(resps)
        ((name, template, kind),) = {(doc["embedder"], doc["embedder_template"], doc["embedder_text"]) for doc in docs}
        pairs = [
            (prompt.format(text=_prepare(hypothesis, kind)), prompt.format(text=_prepare(doc["text"], kind)))
            for prompt in PROMPTS.values()
            for hypothesis, doc in zip(hypotheses, docs, strict=True)
        ]
        texts = sorted({text for pair in pairs for text in pair})
        states = load_embedder(name, template).embed(texts)
        row = {text: i for i, text in enumerate(texts)}
        said, meant = zip(*((row[h], row[r]) for h, r in pairs), strict=True)
        values = cosine(states[list(said)], states[list(meant)]).reshape(len(PROMPTS), -1)
        return [[*row, Response.of(said).heard] for row, said in zip(values.T.tolist(), hypotheses, strict=True)]


def _prepare(text: str, kind: str) -> str:
    return text.strip() if kind == "raw" else normalise(text, kind)


def score(doc: Mapping, results: Sequence[Sequence[float]]) -> dict[str, float]:
    """`process_results` of the level Understand.

    Returns:
        `similarity` (the lower cosine), `similarity_background`, `similarity_summary`, `heard` (share of
        the clip's seconds that the system was fed; NaN where it did not say).

    >>> score({}, [[0.5, 0.25, 1.0]])
    {'similarity': 0.25, 'similarity_background': 0.5, 'similarity_summary': 0.25, 'heard': 1.0}
    """
    *values, heard = results[0]
    cosines = {f"similarity_{name}": value for name, value in zip(PROMPTS, values, strict=True)}
    return {"similarity": min(cosines.values()), **cosines, "heard": heard}
