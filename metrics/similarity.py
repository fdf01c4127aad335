"""Score the level Understand: how similar a language model's states of hypothesis and reference are.

Two one-word prompts hold the text; the embedding of a text under a prompt is the last layer's hidden state
at the prompt's last token, the state that predicts the next word (paper, section 3.2, eqs. 1 and 2). The
similarity of a clip is the lower of the two cosines. An empty hypothesis is embedded like any other text:
as empty brackets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from lm_eval.api.filter import Filter

from speechiq.core.response import response_of
from speechiq.metrics.embedder import OPTIONS, embed
from speechiq.metrics.normalizer import normalize

PROMPTS = {
    "background": "The background scenario of the speech [{text}] in one word is",
    "summary": "The summary of this speech [{text}] in one word is",
}


def cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Row-wise cosine similarity in float64: (rows, size) and (rows, size) to (rows,)."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.asarray(np.einsum("ij,ij->i", first, second) / norms)


class Embed(Filter):
    """lm-eval filter: a clip's hypothesis becomes its cosines with the reference, one a prompt, and how much was heard.

    Each doc names its embedder and how to use it. A text that occurs more than once is embedded once.
    """

    def apply(self, resps: Iterable[str], docs: Sequence[Mapping[str, Any]]) -> list[list[float]]:
        hypotheses = list(resps)
        ((name, template, kind, dtype),) = {tuple(doc[option] for option in ("embedder", *OPTIONS)) for doc in docs}
        pairs = [
            (prompt.format(text=_prepare(hypothesis, kind)), prompt.format(text=_prepare(doc["text"], kind)))
            for prompt in PROMPTS.values()
            for hypothesis, doc in zip(hypotheses, docs, strict=True)
        ]
        texts = sorted({text for pair in pairs for text in pair})
        states = embed(texts, name, template, dtype, owners=_owners(pairs, docs))
        row = {text: i for i, text in enumerate(texts)}
        said, meant = zip(*((row[h], row[r]) for h, r in pairs), strict=True)
        values = cosine(states[list(said)], states[list(meant)]).reshape(len(PROMPTS), -1)
        return [[*row, response_of(said).coverage] for row, said in zip(values.T.tolist(), hypotheses, strict=True)]


def _owners(pairs: Sequence[tuple[str, str]], docs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return text -> its name in errors."""
    names = [str(doc.get("id", number)) for number, doc in enumerate(docs)] * len(PROMPTS)
    said = {text: f"the transcript of {name}" for (text, _), name in zip(pairs, names, strict=True)}
    return said | {text: f"the reference of {name}" for (_, text), name in zip(pairs, names, strict=True)}


def _prepare(text: str, kind: str) -> str:
    return text.strip() if kind == "raw" else normalize(text, kind)


def score(doc: Mapping[str, Any], results: Sequence[Sequence[float]]) -> dict[str, float]:
    """`process_results` of the level Understand.

    Returns:
        `similarity` (the lower cosine), `similarity_background`, `similarity_summary`, `heard` (share of
        the clip's seconds that the system was fed; NaN where it did not say).

    >>> score({}, [[0.5, 0.25, 1.0]])
    {'similarity': 0.25, 'similarity_background': 0.5, 'similarity_summary': 0.25, 'audio_coverage': 1.0}
    """
    *values, heard = results[0]
    cosines = {f"similarity_{name}": value for name, value in zip(PROMPTS, values, strict=True)}
    return {"similarity": min(cosines.values()), **cosines, "audio_coverage": heard}
