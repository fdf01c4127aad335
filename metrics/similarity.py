"""Score the level Understand: how similar a language model's states of hypothesis and reference are.

Call `similarity` on texts. `Embed` and `score` are what the tasks of lm-eval name.

Two one-word prompts contain the text; the embedding of a text under a prompt is the last layer's hidden state
at the prompt's last token, the state that predicts the next word (paper, section 3.2, eqs. 1 and 2). The
similarity of a clip is the lower of the two cosines. An empty text is embedded like any other text:
as empty brackets.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from lm_eval.api.filter import Filter
from msgspec import Meta

from speechiq.core.response import response_of
from speechiq.engines.options import Options
from speechiq.metrics.columns import higher, returns
from speechiq.metrics.distance.readers import DEFAULT_EMBEDDER, EMBEDDER, embed, warn_unknown_script
from speechiq.metrics.models import check_checkpoint
from speechiq.metrics.settings import Dtype, Template, Text, read_record, record_of
from speechiq.metrics.words.normalizer import TextForm, prepare_text
from speechiq.metrics.words.wer import index_texts, pair_texts

PROMPTS = {
    "background": "The background scenario of the speech [{text}] in one word is",
    "summary": "The summary of this speech [{text}] in one word is",
}


class EmbedderSettings(Options, frozen=True, kw_only=True):
    """Define the settings of the level Understand, which its docs have as fields."""

    embedder: Annotated[
        Text, Meta(description="Language model whose hidden states are compared: a hub id, a folder or `demo:NAME`.")
    ] = DEFAULT_EMBEDDER
    embedder_template: Annotated[
        Template, Meta(description="`chat` puts the prompt into the chat template of the model, as a user's turn.")
    ] = "plain"
    embedder_text: Annotated[
        TextForm, Meta(description="Normalizer that is applied to both texts first; `raw` applies none.")
    ] = "raw"
    embedder_dtype: Annotated[Dtype, Meta(description="Number format in which the embedder computes.")] = "float32"


def read_embedding(metadata: Mapping[str, Any]) -> EmbedderSettings:
    """Return the settings of a task's embedder; refuse a model that cannot be used."""
    embedding = read_record(EmbedderSettings, metadata)
    check_checkpoint(EMBEDDER, embedding.embedder)
    return embedding


def describe_embedding(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of an embedder that docs and results of the level Understand record."""
    return msgspec.structs.asdict(read_embedding(metadata))


def similarity(
    reference: str | Sequence[str],
    hypothesis: str | Sequence[str],
    embedder: str = DEFAULT_EMBEDDER,
    *,
    embedder_template: str = "plain",
    embedder_text: str = "raw",
    embedder_dtype: str = "float32",
) -> float:
    """Return the similarity of one hypothesis to its reference, or the mean over several: the lower of the two cosines.

    1 for equal texts, to rounding. An empty text is embedded as empty brackets; NaN for empty lists. The embedder stays
    in memory; states are cached on disk (`SIQ_STORE`).

    Args:
        reference: The words that were spoken, or a list of texts.
        hypothesis: The transcript, or as many texts as `reference` has.
        embedder: A causal language model: hub id, folder, or `demo:NAME`.
        embedder_template: `plain`, or `chat`: the prompt as a user's turn of the model's chat template.
        embedder_text: `raw`, or the normalizer that is applied to both texts.
        embedder_dtype: The dtype in which the embedder computes: `float32`, `bfloat16` or `float16`.

    Raises:
        SpeechIQError: The lists have different lengths, the embedder cannot be loaded or is not a language model, an
            option has an unknown value, or a text is longer than the embedder's context.

    >>> spoken, written = "I feel pain in the lower back.", "I feel painting in the world back."
    >>> round(similarity(spoken, written, embedder="demo:SmolLM2-135M-Instruct"), 3)  # doctest: +SKIP
    0.924
    """
    pairs = pair_texts(reference, hypothesis)
    if not pairs:
        return math.nan
    options = {"template": embedder_template, "text": embedder_text, "dtype": embedder_dtype}
    settings = {"embedder": embedder} | {f"embedder_{name}": value for name, value in options.items()}
    return float(np.mean(compute_cosines(pairs, read_embedding(settings)).min(axis=1)))


def compute_cosines(
    pairs: Sequence[tuple[str, str]], embedding: EmbedderSettings, names: Sequence[str] = ()
) -> np.ndarray:
    """Return the cosines of each reference with its hypothesis: (pairs, prompts), float64, in the order of `PROMPTS`.

    A text that occurs more than once is embedded once. `names` has a name per clip for errors, by default its number.
    """
    name, form, dtype = embedding.embedder, embedding.embedder_text, embedding.embedder_dtype
    prompted = [
        (prompt.format(text=prepare_text(reference, form)), prompt.format(text=prepare_text(hypothesis, form)))
        for prompt in PROMPTS.values()
        for reference, hypothesis in pairs
    ]
    clips = names or [str(number) for number in range(len(pairs))]
    warn_unknown_script([reference for reference, _ in pairs], name, dtype)
    owners, (references, hypotheses) = index_texts(prompted, [*clips] * len(PROMPTS))
    states = embed(list(owners), name, embedding.embedder_template, dtype, owners=owners)
    return cosine(states[hypotheses], states[references]).reshape(len(PROMPTS), -1).T


def cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the row-wise cosine similarity in float64: (rows, size) and (rows, size) to (rows,).

    >>> cosine(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[3.0, 0.0], [1.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    first, second = first.astype(np.float64), second.astype(np.float64)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.asarray(np.einsum("ij,ij->i", first, second) / norms)


class Embed(Filter):
    """Turn each clip's hypothesis into a cosine per prompt and its audio coverage, as a filter of lm-eval."""

    def apply(self, resps: Iterable[str], docs: Sequence[Mapping[str, Any]]) -> list[list[float]]:
        """Return `[cosine, cosine, audio coverage]` per clip."""
        hypotheses = list(resps)
        (embedding,) = {record_of(EmbedderSettings, doc) for doc in docs}
        pairs = [(doc["text"], hypothesis) for hypothesis, doc in zip(hypotheses, docs, strict=True)]
        names = [str(doc.get("id", number)) for number, doc in enumerate(docs)]
        cosines = compute_cosines(pairs, embedding, names)
        return [
            [*values, response_of(hypothesis).coverage]
            for values, hypothesis in zip(cosines.tolist(), hypotheses, strict=True)
        ]


@returns(higher("similarity", "similarity_background", "similarity_summary", "audio_coverage"))
def score(doc: Mapping[str, Any], results: Sequence[Sequence[float]]) -> dict[str, float]:
    """Score one clip, an item of `Embed`; the `process_results` of the level Understand.

    Its columns are `similarity` (the lower cosine), the cosine under each prompt, and `audio_coverage` (seconds that
    the system received / seconds of the clip; NaN if it did not report them).

    >>> score({}, [[0.5, 0.25, 1.0]])
    {'similarity': 0.25, 'similarity_background': 0.5, 'similarity_summary': 0.25, 'audio_coverage': 1.0}
    """
    *values, coverage = results[0]
    cosines = {f"similarity_{name}": value for name, value in zip(PROMPTS, values, strict=True)}
    return {"similarity": min(cosines.values()), **cosines, "audio_coverage": coverage}
