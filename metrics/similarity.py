"""Score the level Understand: how similar a language model's states of hypothesis and reference are.

Call `similarity` on texts. `Embed` and `score` are what the tasks of lm-eval name.

Two one-word prompts contain the text; the embedding of a text under a prompt is the last layer's hidden state
at the prompt's last token, the state that predicts the next word (paper, section 3.2, eqs. 1 and 2); another layer, or
the mean of several, can be chosen. The
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

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import PROMPTS as OWN_PROMPTS
from speechiq.core.response import response_of
from speechiq.engines.options import FORM, Options
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

#: The last layer, after the final norm.
LAST = -1


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
    embedder_layer: Annotated[
        int | Annotated[str, Meta(pattern=r"^-?\d+(\+-?\d+)*$")],
        Meta(
            description="Layer whose state is compared: `-1` is the last, `20` the 20th; `1+-1` is the mean of two.",
            extra={FORM: "a layer, such as -2, or several joined by +, such as 1+-1"},
        ),
    ] = LAST

    @property
    def layers(self) -> list[int]:
        """Return the numbers of the layers, as they are written."""
        return list(map(int, str(self.embedder_layer).split("+")))


def read_embedding(metadata: Mapping[str, Any]) -> EmbedderSettings:
    """Return the settings of a task's embedder, its layers counted from the first; refuse what cannot be used.

    The command line of lm-eval reads -2 as -2.0, which is the same layer.
    """
    layer = metadata.get("embedder_layer")
    if isinstance(layer, float) and layer.is_integer():
        metadata = {**metadata, "embedder_layer": int(layer)}
    embedding = read_record(EmbedderSettings, metadata)
    config = check_checkpoint(EMBEDDER, embedding.embedder)
    if embedding.embedder_layer == LAST:
        return embedding
    count = config.get_text_config(decoder=True).num_hidden_layers
    return msgspec.structs.replace(embedding, embedder_layer=_count_layers(embedding, count))


def _count_layers(embedding: EmbedderSettings, count: int) -> int | str:
    """Return the layers of an embedder with `count` layers, counted from the first and sorted; `LAST` for the last.

    Layer 0 is the embedding of a token, which is part of a mean only: alone it is the same for all texts, since all
    prompts end with the same token.
    """
    option = f"embedder_layer={embedding.embedder_layer}"
    layers = {layer if layer >= 0 else count + 1 + layer for layer in embedding.layers}
    if not layers <= {*range(count + 1)}:
        raise SpeechIQError(
            option, f"{embedding.embedder} has {count} layers", f"give 1 to {count}, or -1, the last, to -{count}"
        )
    if layers == {0}:
        raise SpeechIQError(
            option, "the embedding of the prompts' last token, which is the same for all texts", f"give 1 to {count}"
        )
    return LAST if layers == {count} else "+".join(map(str, sorted(layers)))


def describe_embedding(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an embedder that docs and results of the level Understand record.

    They name the layer only if the metadata do.
    """
    settings = msgspec.structs.asdict(read_embedding(metadata))
    if metadata.get("embedder_layer") is None:
        del settings["embedder_layer"]
    return settings


def similarity(
    reference: str | Sequence[str],
    hypothesis: str | Sequence[str],
    embedder: str = DEFAULT_EMBEDDER,
    *,
    embedder_template: str = "plain",
    embedder_text: str = "raw",
    embedder_dtype: str = "float32",
    embedder_layer: int | str = LAST,
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
        embedder_layer: The layer whose state is compared, from the first (1) or from the last (-1); `1+-1` is the
            mean of two.

    Raises:
        SpeechIQError: The lists have different lengths, the embedder cannot be loaded or is not a language model, an
            option has an unknown value, the embedder does not have the layer, or a text is longer than the embedder's
            context.

    >>> spoken, written = "I feel pain in the lower back.", "I feel painting in the world back."
    >>> round(similarity(spoken, written, embedder="demo:SmolLM2-135M-Instruct"), 3)  # doctest: +SKIP
    0.924
    """
    pairs = pair_texts(reference, hypothesis)
    if not pairs:
        return math.nan
    options = {"template": embedder_template, "text": embedder_text, "dtype": embedder_dtype, "layer": embedder_layer}
    settings = {"embedder": embedder} | {f"embedder_{name}": value for name, value in options.items()}
    return float(np.mean(compute_cosines(pairs, read_embedding(settings)).min(axis=1)))


def compute_cosines(
    pairs: Sequence[tuple[str, str]],
    embedding: EmbedderSettings,
    names: Sequence[str] = (),
    prompts: Mapping[str, str] = PROMPTS,
) -> np.ndarray:
    """Return the cosines of each reference with its hypothesis: (pairs, prompts), float64, in the order of `PROMPTS`.

    A text that occurs more than once is embedded once. `names` has a name per clip for errors, by default its number.
    """
    model, form, dtype = embedding.embedder, embedding.embedder_text, embedding.embedder_dtype
    prompted = [
        (_fill(prompts[name], prepare_text(reference, form)), _fill(prompts[name], prepare_text(hypothesis, form)))
        for name in PROMPTS
        for reference, hypothesis in pairs
    ]
    clips = names or [str(number) for number in range(len(pairs))]
    warn_unknown_script([reference for reference, _ in pairs], model, dtype)
    owners, (references, hypotheses) = index_texts(prompted, [*clips] * len(PROMPTS))
    layers = [] if embedding.embedder_layer == LAST else embedding.layers
    states = embed(list(owners), model, embedding.embedder_template, dtype, owners=owners, layers=layers)
    return cosine(states[hypotheses], states[references]).reshape(len(PROMPTS), -1).T


def _fill(prompt: str, text: str) -> str:
    return prompt.replace("{text}", text)


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
        own = docs[0].get(OWN_PROMPTS) or {}
        cosines = compute_cosines(pairs, embedding, names, {**PROMPTS, **own})
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
