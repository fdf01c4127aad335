"""Score transcripts by AudioBench's normalization, next to ours: the column `wer_audiobench`.

It is written from a description of AudioBench's steps, not from its code: Whisper's English normalizer; digits back to
words; brackets removed; contractions expanded; `uh`, `um`, `er` and `ah` removed; a text without words becomes the word
"empty". Where the description is silent (which contractions, hyphens in numbers), the rules are ours, so that rates can
differ from AudioBench's own in single words.

The rate does not compare with `wer`: hesitations never count, and a clip without reference words has a rate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from speechiq.core.response import response_of
from speechiq.metrics import wer as ours
from speechiq.metrics.columns import lower, returns
from speechiq.metrics.normalizer import normalize
from speechiq.metrics.pairs import pair_texts
from speechiq.metrics.wer import ErrorRate, count_errors, pool
from speechiq.metrics.wording import SPREAD, spread

EMPTY = "empty"
FILLERS = {"uh", "um", "er", "ah"}
#: Contractions that Whisper's normalizer leaves -> their words.
CONTRACTIONS = {
    "cannot": "can not",
    "dunno": "do not know",
    "gimme": "give me",
    "kinda": "kind of",
    "lemme": "let me",
    "sorta": "sort of",
}
_NUMBER = re.compile(r"\d+(?:\.\d+|st\b|[nr]d\b|th\b)?")
_BRACKETS = re.compile(r"[\[\](){}<>]")
#: Digits of the longest number that is read as one; longer ones are read digit by digit.
LONGEST_NUMBER = 15


def wer_audiobench(reference: str | Sequence[str], hypothesis: str | Sequence[str]) -> float:
    """Return the word error rate by AudioBench's normalization, of one text or of several together.

    Args:
        reference: The words that were spoken, or a list of texts.
        hypothesis: The transcript, or as many texts as `reference` has.

    Returns:
        All errors over all reference words; a reference without words has one, "empty". NaN for empty lists.

    Raises:
        SpeechIQError: The lists have different lengths.

    >>> wer_audiobench("Uh, it cost $20.", "it cost twenty dollars um")
    0.0
    >>> wer_audiobench("", ""), wer_audiobench("um", "hello there")
    (0.0, 2.0)
    """
    return pool(_rate(*pair) for pair in pair_texts(reference, hypothesis))


def _rate(reference: str, hypothesis: str) -> ErrorRate:
    return ErrorRate(count_errors(normalize_audiobench(reference), normalize_audiobench(hypothesis)))


def normalize_audiobench(text: str) -> str:
    """Return a text as this normalization writes it.

    >>> normalize_audiobench("Er, I'd say 2,000 people (or 21st place) cannot come.")
    'i would say two thousand people can not come'
    >>> normalize_audiobench("Um ... [noise]")
    'empty'
    """
    words = _NUMBER.sub(lambda found: _read_number(found[0]), normalize(text))
    kept = [CONTRACTIONS.get(word, word) for word in _BRACKETS.sub(" ", words).split() if word not in FILLERS]
    plain = " ".join(kept)
    return plain if any(map(str.isalnum, plain)) else EMPTY


@cache
def _engine() -> Any:
    import inflect

    return inflect.engine()


@cache
def _read_number(number: str) -> str:
    """Return a number in words, without commas, hyphens and "and"."""
    parts = [number] if len(number) <= LONGEST_NUMBER else re.findall(r"\d", number)
    words = " ".join(_engine().number_to_words(part, andword="") for part in parts)
    return " ".join(re.sub("[-,]", " ", words).split())


@returns(
    ours.COLUMNS,
    lower("wer_audiobench", aggregation=pool),
    lower(SPREAD, aggregation=spread),
)
def score(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Return all rates of one clip; the `process_results` of tasks of AudioBench that ask for a transcript.

    Args:
        doc: See `metrics.wer.score`.
        results: One hypothesis.

    Returns:
        The columns of `metrics.wer.score`, and `wer_audiobench`, which carries its counts and can be pooled.

    >>> rates = score({"text": "Um, so it goes"}, ["so it goes ah"])
    >>> rates["wer"], rates["wer_audiobench"]
    (0.3333333333333333, 0.0)
    """
    rate = _rate(doc["text"], response_of(results[0]).text)
    return ours.score(doc, results) | {"wer_audiobench": rate}
