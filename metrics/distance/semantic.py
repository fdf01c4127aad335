"""Measure how far a transcript is from its reference for an assistant that reads it.

The distances are those of Liu et al., "Evaluating Speech Recognition Performance Towards Large Language Model Based
Voice Assistants": 1 - cosine of two sentence embeddings, by a sentence encoder (`semdist`, eq. 2) or by the assistant's
own language model (`llm_semdist_...`, eqs. 5, 7 and 9). Call `semantic_distance` on texts. `Distances` and `score` are
what the tasks of lm-eval name.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from lm_eval.api.filter import Filter
from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.core.response import response_of
from speechiq.core.suggestions import suggest
from speechiq.engines.options import Options
from speechiq.metrics.columns import higher, lower, mean, returns
from speechiq.metrics.distance.readers import (
    ASSISTANT,
    DEFAULT_ASSISTANT,
    DEFAULT_ENCODER,
    ENCODER,
    PROMPTS,
    check_assistant,
    distance,
    encode,
    find_head,
    read_vectors,
)
from speechiq.metrics.models import check_checkpoint
from speechiq.metrics.settings import Dtype, Template, Text, read_record
from speechiq.metrics.words.normalizer import TextForm, normalize, prepare_text, read_normalizer
from speechiq.metrics.words.wer import ErrorRate, count_errors, index_texts, pair_texts, pool, repetition
from speechiq.metrics.words.word_classes import (
    OFF,
    count_entity_errors,
    count_rare,
    find_entities,
    find_rare_words,
    read_rare_words,
)
from speechiq.metrics.words.word_classes import ROLE as TAGGER

#: Kind of distance -> its column. `raw_layers` and `raw_tokens` are the variants of the paper's table 4.
KINDS = {
    "encoder": "semdist",
    "raw": "llm_semdist_raw",
    "raw_layers": "llm_semdist_raw_layers",
    "raw_tokens": "llm_semdist_raw_tokens",
    "prompt": "llm_semdist_prompt",
    "eowl": "llm_semdist_eowl",
}
#: The kinds that one pass over the bare texts gives, in the order of `LanguageModel._read_raw`.
RAW = ("raw", "raw_layers", "raw_tokens")
#: Settings that name a checkpoint -> its role; `off` leaves its columns undefined.
ROLES = {"assistant": ASSISTANT, "encoder": ENCODER, "ner": TAGGER}
Settings = Mapping[str, Any]
Pairs = Sequence[tuple[str, str]]


class DistanceSettings(Options, frozen=True, kw_only=True):
    """Define the models of semantic distances and how they read, which docs have as fields."""

    assistant: Annotated[
        Text,
        Meta(
            description="Language model of the assistant whose semantic distances are measured: a hub id, a folder, "
            "`demo:NAME` or `off`."
        ),
    ] = DEFAULT_ASSISTANT
    encoder: Annotated[
        Text, Meta(description="Sentence encoder of `semdist`: a hub id, a folder, `demo:NAME` or `off`.")
    ] = DEFAULT_ENCODER
    ner: Annotated[
        Text,
        Meta(description="Token-classification model that finds named entities if the data set has no `entities`."),
    ] = OFF
    assistant_template: Annotated[
        Template,
        Meta(description="How the text of `llm_semdist_prompt` gets into the prompt; `chat` needs a chat template."),
    ] = "plain"
    assistant_dtype: Annotated[Dtype, Meta(description="Number format in which the assistant computes.")] = "float32"
    semdist_text: Annotated[
        TextForm,
        Meta(description="Normalizer that is applied to both texts before semantic distances; `raw` applies none."),
    ] = "raw"


def semantic_distance(
    reference: str | Sequence[str],
    hypothesis: str | Sequence[str],
    kind: str = "eowl",
    *,
    assistant: str = DEFAULT_ASSISTANT,
    encoder: str = DEFAULT_ENCODER,
    assistant_template: str = "plain",
    assistant_dtype: str = "float32",
    semdist_text: str = "raw",
) -> float:
    """Return the semantic distance of one hypothesis from its reference, or the mean over several (eq. 3).

    From 0 (equal texts) to 2; NaN for empty lists. The model stays in memory; vectors are cached on disk (`SIQ_STORE`).

    Args:
        reference: The words that were spoken, or a list of texts.
        hypothesis: The transcript, or as many texts as `reference` has.
        kind: `eowl` (logits of the next token after "means in one word"), `prompt` (the last state of the text inside
            the assistant's prompt), `raw` (of the bare text), `raw_layers` and `raw_tokens` (its variants in table 4),
            or `encoder` (a sentence encoder, mean-pooled).
        assistant: A causal language model: hub id, folder, or `demo:NAME`. Not used by `encoder`.
        encoder: A bidirectional encoder: hub id, folder, or `demo:NAME`. Used by `encoder` alone.
        assistant_template: For `prompt`: `plain` (table 1), or `chat` (the text as a user's turn of the model's chat
            template).
        assistant_dtype: The dtype in which the assistant computes: `float32`, `bfloat16` or `float16`.
        semdist_text: `raw`, or the normalizer that is applied to both texts.

    >>> pairs = ["who invented the jeans", "who invented the genes"]
    >>> round(semantic_distance(*pairs, kind="raw", assistant="demo:SmolLM2-135M-Instruct"), 3)  # doctest: +SKIP
    """
    if kind not in KINDS:
        raise SpeechIQError(f"kind={kind!r:.80}", "unknown", suggest(kind, KINDS))
    pairs = pair_texts(reference, hypothesis)
    if not pairs:
        return math.nan
    settings = _read_models(
        {
            "assistant": OFF if kind == "encoder" else assistant,
            "encoder": encoder if kind == "encoder" else OFF,
            "assistant_template": assistant_template,
            "assistant_dtype": assistant_dtype,
            "semdist_text": semdist_text,
        }
    )
    return float(measure_distances(pairs, settings, [kind])[kind].mean())


def _read_models(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the models of a task and their options; refuse a model that cannot be used for its role."""
    settings = msgspec.structs.asdict(read_record(DistanceSettings, metadata))
    for key, role in ROLES.items():
        if settings[key] != OFF:
            check_checkpoint(role, settings[key])
    if settings["assistant"] != OFF:
        check_assistant(settings)
    return settings


def read_distance(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return all settings of a task of the type `distance`, checked before any model is loaded."""
    return {**_read_models(metadata), **read_rare_words(metadata), **read_normalizer(metadata)}


def measure_distances(
    pairs: Pairs, settings: Settings, kinds: Sequence[str] = tuple(KINDS), names: Sequence[str] = ()
) -> dict[str, np.ndarray]:
    """Return the distances of each reference from its hypothesis: kind -> (pairs,), NaN if its model is `off`.

    A text that occurs more than once is read once for each prompt. The settings are those of `DistanceSettings`, and
    `names` has a name per clip for errors, by default its number.
    """
    form = settings["semdist_text"]
    clean = [(prepare_text(reference, form), prepare_text(hypothesis, form)) for reference, hypothesis in pairs]
    owners, places = index_texts(clean, names)
    texts = list(owners)
    found = dict.fromkeys(kinds, np.full(len(pairs), np.nan))
    if settings["encoder"] != OFF and "encoder" in found:
        found["encoder"] = _compare(encode(texts, settings["encoder"], owners), places)
    if settings["assistant"] != OFF:
        found |= _by_assistant(texts, places, settings, [kind for kind in kinds if kind != "encoder"], owners)
    return found


def _by_assistant(
    texts: Sequence[str],
    places: Sequence[Sequence[int]],
    settings: Settings,
    kinds: Sequence[str],
    owners: Mapping[str, str],
) -> dict[str, np.ndarray]:
    def read(reading: str, prompt: str) -> np.ndarray:
        prompted = {PROMPTS[prompt].format(text=text): owners[text] for text in texts}
        return read_vectors(reading, list(prompted), settings, prompted)

    found: dict[str, np.ndarray] = {}
    if not {*RAW}.isdisjoint(kinds):
        parts = np.split(read("raw", "raw"), len(RAW), axis=1)
        found |= {kind: _compare(part, places) for kind, part in zip(RAW, parts, strict=True) if kind in kinds}
    if "prompt" in kinds:
        chat = settings["assistant_template"] == "chat"
        found["prompt"] = _compare(read("chat", "raw") if chat else read("last", "prompt"), places)
    if "eowl" in kinds:
        head = find_head(settings)
        found["eowl"] = _compare(read("logits" if head is None else "last", "eowl"), places, head)
    return found


def _compare(vectors: np.ndarray, places: Sequence[Sequence[int]], head: np.ndarray | None = None) -> np.ndarray:
    references, hypotheses = places
    return distance(vectors[list(references)], vectors[list(hypotheses)], head)


class Distances(Filter):
    """Turn each transcript into its distances, as a filter of lm-eval; all docs of a task name the same models."""

    def apply(self, resps: Iterable[str], docs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return per clip `text`, `distances` (kind -> distance), `entities` and `audio_coverage`."""
        hypotheses, settings = list(resps), docs[0]
        pairs = [(doc["text"], hypothesis) for hypothesis, doc in zip(hypotheses, docs, strict=True)]
        names = [str(doc.get("id", number)) for number, doc in enumerate(docs)]
        distances = measure_distances(pairs, settings, names=names)
        entities = self._find_entities(docs, names, settings["ner"])
        items = []
        for i, hypothesis in enumerate(hypotheses):
            item = {
                "text": str(hypothesis),
                "distances": {kind: float(values[i]) for kind, values in distances.items()},
                "entities": list(entities[i]),
                "audio_coverage": response_of(hypothesis).coverage,
            }
            items.append(item)
        return items

    def _find_entities(
        self, docs: Sequence[Mapping[str, Any]], names: Sequence[str], tagger: str
    ) -> Sequence[Sequence[str]]:
        """Return the entities of each reference: those of the data set, else those of the tagger."""
        marked = [doc.get("entities") for doc in docs]
        if tagger == OFF or None not in marked:
            return [found or [] for found in marked]
        texts = [doc["text"] for doc in docs]
        owners = {text: f"the reference of {name}" for text, name in zip(texts, names, strict=True)}
        tagged = find_entities(texts, tagger, owners)
        return [own if given is None else given for given, own in zip(marked, tagged, strict=True)]


@returns(
    lower("llm_semdist_eowl", "llm_semdist_prompt", "llm_semdist_raw"),
    lower("llm_semdist_raw_layers", "llm_semdist_raw_tokens", "semdist"),
    lower("wer", aggregation=mean),
    lower("wer_corpus", aggregation=pool),
    lower("rare_wer", aggregation=mean),
    lower("rare_wer_corpus", aggregation=pool),
    lower("entity_wer", aggregation=mean),
    lower("entity_wer_corpus", aggregation=pool),
    lower("repetition"),
    higher("audio_coverage"),
)
def score(doc: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Score one clip, an item of `Distances`; the `process_results` of the tasks of the type `distance`.

    Its columns are `wer`, `rare_wer` and `entity_wer` (errors per word, per rare word and per word of a named entity;
    NaN without one), each also as `..._corpus`, which pools the errors of all clips; the distances (0 to 2; NaN if the
    model is `off`); `repetition`, `audio_coverage` (see `wer.score`).

    >>> doc = {"text": "who invented calculus", "normalizer": "english", "rare_words": "off"}
    >>> item = {"text": "who invented cactus", "distances": {"eowl": 0.25}, "entities": [], "audio_coverage": 1.0}
    >>> scores = score(doc, [item])
    >>> round(scores["wer"], 3), scores["llm_semdist_eowl"], scores["entity_wer"]
    (0.333, 0.25, nan)
    """
    item = results[0]
    kind = doc["normalizer"]
    texts = normalize(doc["text"], kind), normalize(item["text"], kind)
    rates = {
        "wer": count_errors(*texts),
        "rare_wer": count_rare(*texts, find_rare_words(doc["rare_words"])),
        "entity_wer": count_entity_errors(doc["text"], item["text"], item["entities"], kind),
    }
    scores: dict[str, float] = {}
    for name, errors in rates.items():
        scores |= {name: float(ErrorRate(errors)), f"{name}_corpus": ErrorRate(errors)}
    distances = {KINDS[kind]: value for kind, value in item["distances"].items()}
    return {
        **scores,
        **distances,
        "repetition": repetition(item["text"], doc["text"]),
        "audio_coverage": item["audio_coverage"],
    }
