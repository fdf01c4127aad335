"""Count the errors of some words only: those that are rare, or those of named entities.

The paper (Liu et al., section 3.2) names both rates and leaves open how insertions count. Here, on the alignment of
`wer`: substitutions and deletions count by their reference word, insertions by their inserted word, and the errors are
divided by the number of reference words of the class. A clip without such a word has no rate: NaN.

The entities that a data set marks come first. Without them, a token-classification model tags the references, once for
all systems.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import jiwer
from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, hash_file, read_lines
from speechiq.core.suggestions import missing
from speechiq.engines.options import Options
from speechiq.metrics.models import NO_NAMES, Role, TextModel, read_texts
from speechiq.metrics.settings import Text, read_record
from speechiq.metrics.words.normalizer import DEFAULT, ENGLISH_ONLY, normalize
from speechiq.metrics.words.wer import ErrorRate, Errors, pair_texts, pool

if TYPE_CHECKING:
    from tokenizers import Encoding
    from transformers import PreTrainedConfig

Belongs = Callable[[str], bool]

OFF = "off"
WORDFREQ = "wordfreq"
COMMON = "common:"
#: Words of a lower Zipf frequency (log10 of occurrences per 1e9 words) are outside the top 90 % of the cumulative
#: frequencies of English in the package wordfreq.
RARE_BELOW = 4.0


def count_errors_of(reference: str, hypothesis: str, marked: Sequence[bool], belongs: Belongs) -> Errors:
    """Count the errors that concern words of a class, in normalized texts.

    `marked` has for each word of the reference whether it belongs to the class; `belongs` decides on inserted words.

    >>> rare = {"calculus", "boroughs"}.__contains__
    >>> count_errors_of("who invented calculus", "boroughs who invented cactus", [False, False, True], rare)
    Errors(hits=0, substitutions=1, deletions=0, insertions=1)
    """
    written = hypothesis.split()
    if not marked:
        return Errors(insertions=sum(map(belongs, written)))
    counts = dict.fromkeys(("equal", "substitute", "delete", "insert"), 0)
    for chunk in jiwer.process_words(reference, hypothesis).alignments[0]:
        inserted = written[chunk.hyp_start_idx : chunk.hyp_end_idx]
        spoken = marked[chunk.ref_start_idx : chunk.ref_end_idx]
        counts[chunk.type] += sum(map(belongs, inserted)) if chunk.type == "insert" else sum(spoken)
    return Errors(counts["equal"], counts["substitute"], counts["delete"], counts["insert"])


def count_rare(reference: str, hypothesis: str, is_rare: Belongs) -> Errors:
    """Count the errors that concern rare words of normalized texts."""
    return count_errors_of(reference, hypothesis, [is_rare(word) for word in reference.split()], is_rare)


def count_entities(reference: str, hypothesis: str, entities: Sequence[str]) -> Errors:
    """Count the errors that concern words of named entities; an inserted word counts if an entity has it.

    All texts are normalized. An entity that the reference does not contain is ignored. Where the hypothesis has the
    characters of an entity, it has the entity, however it is split: "z k 3" is "zk 3", and "8 55 a m" is "855 am".

    >>> count_entities("what are the five boroughs of new york", "what are the fried burgers of york", ["new york"])
    Errors(hits=1, substitutions=0, deletions=1, insertions=0)
    >>> count_entities("at 2 pm", "at 2 p m", ["2 pm"])
    Errors(hits=2, substitutions=0, deletions=0, insertions=0)
    """
    words, written = reference.split(), hypothesis.split()
    marked = _mark(_find_spoken(words, written, entities), len(words))
    own = {word for word, belongs in zip(words, marked, strict=True) if belongs}
    return count_errors_of(reference, " ".join(written), marked, own.__contains__)


def _find_spoken(words: Sequence[str], written: list[str], entities: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Return the places of each entity in a reference; in the `written` words, spell it as the reference does."""
    places: dict[str, list[tuple[int, int]]] = {}
    for entity in dict.fromkeys(entities):
        spoken = places[entity] = find_phrase(words, entity)
        for start, end in reversed(find_phrase(written, entity) if spoken else []):
            written[start:end] = words[slice(*spoken[0])]
    return [places[entity] for entity in entities]


def _mark(places: Iterable[Iterable[tuple[int, int]]], size: int) -> list[bool]:
    marked = [False] * size
    for start, end in chain.from_iterable(places):
        marked[start:end] = [True] * (end - start)
    return marked


class ClassCounts(NamedTuple):
    """Hold what a reference has of a class of entities.

    Attributes:
        entities: Number of entities.
        missing: Number of those that the reference does not contain.
        words: Number of words of the reference that are in an entity of the class.
        wrong: Number of those that are substituted or deleted.
    """

    entities: int = 0
    missing: int = 0
    words: int = 0
    wrong: int = 0

    def join(self, other: ClassCounts) -> ClassCounts:
        """Return the counts of both together."""
        return ClassCounts(*map(sum, zip(self, other, strict=True)))


def count_entity_classes(
    reference: str, hypothesis: str, entities: Sequence[str], classes: Sequence[str], kind: str | None
) -> dict[str, ClassCounts]:
    """Count the wrong words of the entities of each class, on the alignment of `count_entities`.

    A word in entities of two classes counts in both. No text is normalized yet.

    >>> entities, classes = ["Acme", "$5"], ["ORG", "MONEY"]
    >>> counts = count_entity_classes("Acme paid five dollars", "acne paid $5", entities, classes, "english")
    >>> {name: (count.words, count.wrong) for name, count in counts.items()}
    {'ORG': (1, 1), 'MONEY': (1, 0)}
    """
    spoken, heard, *found = (normalize_entities(text, kind) for text in (reference, hypothesis, *entities))
    words, written = spoken.split(), heard.split()
    places = _find_spoken(words, written, found)
    wrong = _find_wrong(spoken, " ".join(written))
    counts = {}
    for name in dict.fromkeys(classes):
        own = [place for place, kind_of in zip(places, classes, strict=True) if kind_of == name]
        marked = _mark(own, len(words))
        errors = sum(belongs and error for belongs, error in zip(marked, wrong, strict=True))
        counts[name] = ClassCounts(len(own), own.count([]), sum(marked), errors)
    return counts


def _find_wrong(reference: str, hypothesis: str) -> list[bool]:
    """Return for each word of a normalized reference whether it is substituted or deleted."""
    wrong = [False] * len(reference.split())
    for chunk in jiwer.process_words(reference, hypothesis).alignments[0] if wrong else []:
        if chunk.type in ("substitute", "delete"):
            wrong[chunk.ref_start_idx : chunk.ref_end_idx] = [True] * (chunk.ref_end_idx - chunk.ref_start_idx)
    return wrong


def find_phrase(words: Sequence[str], phrase: str) -> list[tuple[int, int]]:
    """Return beginning and end of each place where words have the characters of a phrase, however both are split.

    The letter O and the number 0, which people spell by one word, are equal.

    >>> find_phrase("my code is z k 3 f f w".split(), "zk 3 ffw")
    [(3, 9)]
    """
    wanted = _join(phrase.split())
    if not wanted:
        return []
    text = _join(words)
    numbers = {offset: number for number, offset in enumerate(accumulate(map(len, words), initial=0))}
    found: list[tuple[int, int]] = []
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if start in numbers and end in numbers:
            found.append((numbers[start], numbers[end]))
        start = text.find(wanted, start + 1)
    return found


def _join(words: Sequence[str]) -> str:
    return "".join(words).replace("o", "0")


def rare_wer(
    reference: str | Sequence[str],
    hypothesis: str | Sequence[str],
    rare_words: str = WORDFREQ,
    normalizer: str | None = DEFAULT,
) -> float:
    """Return the word error rate of rare words, of one text or of several together; NaN if no reference has one.

    Args:
        reference: The words that were spoken, or a list of texts.
        hypothesis: The transcript, or as many texts as `reference` has.
        rare_words: A file of rare words, one per line; `common:FILE`, a file of words that are not rare, such as the
            most frequent words of one's own texts; or `wordfreq`, words of a Zipf frequency below 4 in the package
            wordfreq (English).
        normalizer: See `metrics.wer.wer`.

    >>> rare_wer("who invented calculus", "who invented cactus", normalizer=None)
    1.0
    >>> rare_wer(["what is it", "who invented calculus"], ["what was it", "who invented calculus"])
    0.0
    >>> rare_wer("what is it", "what was it")
    nan
    """
    is_rare = find_rare_words(rare_words)
    rates = []
    for spoken, written in pair_texts(reference, hypothesis):
        errors = count_rare(normalize(spoken, normalizer), normalize(written, normalizer), is_rare)
        rates.append(ErrorRate(errors))
    return pool(rates)


class RareWordSettings(Options, frozen=True, kw_only=True):
    """Define which words are rare."""

    rare_words: Annotated[
        Text | None,
        Meta(
            description="Words that `rare_wer` counts: those of a file, all but those of a file (`common:FILE`), or by "
            "the package wordfreq (`wordfreq`, the default if it is installed); `off` counts none."
        ),
    ] = None


def read_rare_words(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return `rare_words` of a task and, of a file, its sha256.

    Without a choice in the metadata it is `wordfreq` if that package is installed, else `off`: `rare_wer` is NaN then.
    """
    chosen = read_record(RareWordSettings, metadata).rare_words or (WORDFREQ if find_spec(WORDFREQ) else OFF)
    find_rare_words(chosen)
    digest = {} if chosen in (OFF, WORDFREQ) else {"rare_words_sha256": hash_file(expand(chosen.removeprefix(COMMON)))}
    return {"rare_words": chosen} | digest


@cache
def find_rare_words(chosen: str) -> Belongs:
    """Return a function that decides whether a normalized word is rare; with `off` no word is. See `rare_wer`."""
    if chosen == OFF:
        return frozenset[str]().__contains__
    if chosen == WORDFREQ:
        return _rare_by_wordfreq()
    words = _read_words(chosen)
    return (lambda word: word not in words) if chosen.startswith(COMMON) else words.__contains__


def _read_words(chosen: str) -> frozenset[str]:
    fix = f"give a file with one word per line, {WORDFREQ} or {OFF}"
    lines = read_lines(expand(chosen.removeprefix(COMMON)), f"rare_words={chosen}", fix)
    words = frozenset(word for line in lines for word in normalize(line).split())
    if not words:
        raise SpeechIQError(f"rare_words={chosen}", "has no words", fix)
    return words


def _rare_by_wordfreq() -> Belongs:
    if not find_spec(WORDFREQ):
        raise SpeechIQError(f"rare_words={WORDFREQ}", f"{missing(WORDFREQ)}, or give a file of words")
    from wordfreq import zipf_frequency

    return lambda word: zipf_frequency(word, "en") < RARE_BELOW


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
        spans = []
        for encoding, row in zip(batch, best, strict=True):
            labels = [self.config.id2label[label] for label in row]
            spans.append(find_spans(encoding.word_ids, encoding.offsets, labels))
        return spans


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
    found = []
    for text, entities in zip(texts, spans, strict=True):
        found.append([text[start:end].strip() for start, end in entities])
    return found


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
