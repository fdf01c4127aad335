"""Find the named entities of references, and score their words.

The entities that a data set marks come first. Without them, a token-classification model tags the references, once for
all systems.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.models import NO_NAMES, Role, TextModel, read_texts
from speechiq.metrics.words.normalizer import DEFAULT, ENGLISH_ONLY, normalize
from speechiq.metrics.words.pairs import pair_texts
from speechiq.metrics.words.wer import ErrorRate, Errors, pool
from speechiq.metrics.words.word_classes import count_entities, find_phrase

if TYPE_CHECKING:
    from tokenizers import Encoding
    from transformers import PreTrainedConfig

OUTSIDE = "O"
# What is written of an hour and of an address, and often not spoken: "2:00 PM" is "2 o'clock PM" and "2 PM".
_FULL_HOUR = re.compile(r"(?<=\d):00\b|\s+o['\u2019]?\s?clock\b", re.IGNORECASE)
_HALF_DAY = re.compile(r"\b(one|\d+) ([ap]) m\b")
_MINUTES = re.compile(r"\b(\d{1,2})[. ](?=\d\d [ap]m\b)")
_SPOKEN_SIGN = re.compile(r"\s+(?:dot|dash|hyphen|underscore)\s+", re.IGNORECASE)


def is_tagger(config: PreTrainedConfig) -> bool:
    """Return whether a config is that of a token-classification model with a label for words outside of entities."""
    from transformers import MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING

    return type(config) in MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING and OUTSIDE in config.label2id


ROLE = Role(
    "ner",
    "AutoModelForTokenClassification",
    is_tagger,
    f"a tagger of named entities (a token-classification model with the label {OUTSIDE}); name one, such as "
    f"--metadata ner=dslim/bert-base-NER",
    "mark the entities in a column `entities` of the data set, or leave ner out",
    "another tagger",
)


class Tagger(TextModel):
    """Tag named entities by a token-classification model.

    A word is in an entity if its first token has a label other than `O`; neighboring words of one type are one entity.
    """

    limited_by_tokenizer = True

    def __init__(self, role: Role, name: str, dtype: str = "float32", batch_size: int | None = None) -> None:
        super().__init__(role, name, dtype, batch_size)
        if not self.tokenizer.is_fast:
            raise SpeechIQError(self.called, "its tokenizer does not give the places of words", "choose another tagger")

    def tokenize(self, texts: Sequence[str], reading: str) -> Sequence[Encoding]:
        """Return the tokens of each text; see `TextModel.tokenize`."""
        encodings: Sequence[Encoding] = self.tokenizer(list(texts)).encodings
        return encodings

    def read_batch(self, batch: Sequence[Encoding], reading: str) -> list[list[list[int]]]:
        """Return beginning and end of the entities of each text; see `TextModel.read_batch`."""
        ids, mask, _ = self.pad([encoding.ids for encoding in batch])
        best = self.load()(input_ids=ids, attention_mask=mask).logits.argmax(-1).tolist()
        labels = ([self.config.id2label[label] for label in row] for row in best)
        return [
            find_spans(encoding.word_ids, encoding.offsets, row) for encoding, row in zip(batch, labels, strict=True)
        ]


def find_spans(
    words: Sequence[int | None], places: Sequence[tuple[int, int]], labels: Sequence[str]
) -> list[list[int]]:
    """Return beginning and end of each entity of a text, from word, place and label (`B-PER`) of each token.

    The number of a word is None for special tokens; a padded text has more labels than tokens.

    >>> tokens = [None, 0, 1, 1, 2], [(0, 0), (0, 3), (4, 6), (6, 8), (9, 11)]
    >>> find_spans(*tokens, ["O", "B-LOC", "I-LOC", "O", "O"])
    [[0, 8]]
    """
    spans: dict[int, list[int]] = {}
    types: dict[int, str] = {}
    for word, (start, end), label in zip(words, places, labels, strict=False):
        if word is not None:
            spans.setdefault(word, [start, end])[1] = end
            types.setdefault(word, label.rpartition("-")[2])
    found: list[list[int]] = []
    for word, kind in types.items():
        if kind == OUTSIDE:
            continue
        if types.get(word - 1) == kind:
            found[-1][1] = spans[word][1]
        else:
            found.append(spans[word])
    return found


def find_entities(texts: Sequence[str], name: str, owners: Mapping[str, str] = NO_NAMES) -> list[list[str]]:
    """Return the entities that a tagger finds in each text, written as people write: taggers need capitals."""
    spans = read_texts(Tagger, ROLE, name, texts, owners, form=list[tuple[int, int]])
    return [[text[start:end].strip() for start, end in entities] for text, entities in zip(texts, spans, strict=True)]


def normalize_entities(text: str, kind: str | None) -> str:
    """Return a text as it is compared for the words of its entities; in English, times and addresses have one form.

    >>> normalize_entities("At 2:00 PM, to ann.lee@gmail.com", "english")
    'at 2 pm to ann lee at gmail com'
    >>> normalize_entities("at two o'clock p.m. to ann dot lee at gmail dot com", "english")
    'at 2 pm to ann lee at gmail com'
    """
    if kind not in ENGLISH_ONLY:
        return normalize(text, kind)
    text = _SPOKEN_SIGN.sub(" ", _FULL_HOUR.sub("", text)).replace("@", " at ")
    return _MINUTES.sub(r"\1", _HALF_DAY.sub(r"\1 \2m", normalize(text, kind)))


def check_entities(doc: Mapping[str, Any]) -> None:
    """Refuse an entity of a doc that its reference does not contain, after both are normalized."""
    words = normalize_entities(doc["text"], doc["normalizer"]).split()
    for entity in doc.get("entities") or ():
        if not find_phrase(words, normalize_entities(entity, doc["normalizer"])):
            raise SpeechIQError(
                doc["id"], f"its entity {entity!r:.80} is not in its reference", "correct the column entities"
            )


def entity_wer(
    reference: str | Sequence[str],
    hypothesis: str | Sequence[str],
    entities: Sequence[Sequence[str]] | None = None,
    *,
    ner: str | None = None,
    normalizer: str | None = DEFAULT,
) -> float:
    """Return the word error rate of named entities, of one text or of several together; NaN if there are none.

    Args:
        reference: The words that were spoken, or a list of texts.
        hypothesis: The transcript, or as many texts as `reference` has.
        entities: The entities of each reference.
        ner: A token-classification model that finds them, if they are not given: hub id, folder, or `demo:NAME`.
        normalizer: See `metrics.wer.wer`.

    >>> pair = "what are the five boroughs of New York", "what are the fried burgers of York"
    >>> entity_wer(*pair, [["New York"]]), entity_wer(*pair, [[]])
    (0.5, nan)
    """
    pairs = pair_texts(reference, hypothesis)
    if entities is None and ner is None:
        raise SpeechIQError("entity_wer", "neither entities nor a tagger", "give entities=[[...], ...] or ner=MODEL")
    listed = find_entities([spoken for spoken, _ in pairs], str(ner)) if entities is None else entities
    if len(listed) != len(pairs):
        raise SpeechIQError("references", f"{len(pairs)} texts, entities: {len(listed)}", "give one list per reference")
    return pool(
        ErrorRate(count_entity_errors(spoken, written, found, normalizer))
        for (spoken, written), found in zip(pairs, listed, strict=True)
    )


def count_entity_errors(reference: str, hypothesis: str, entities: Sequence[str], kind: str | None) -> Errors:
    """Count the errors that concern words of entities; see `count_entities`. No text is normalized yet."""
    spoken, written, *found = (normalize_entities(text, kind) for text in (reference, hypothesis, *entities))
    return count_entities(spoken, written, found)
