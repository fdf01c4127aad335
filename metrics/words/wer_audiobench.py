"""Score transcripts by AudioBench's normalization, next to ours: the column `wer_audiobench`.

After Whisper's English normalizer, which writes numbers in digits: 0 to 20 and the round tens become words, and all
other numbers stay (21, 412); all punctuation is deleted, also within a word (`3.5` -> `threefive`, `21%` -> `21`);
`uh`, `um`, `umm`, `er` and `ah` are removed; a text without a character left becomes the word "empty". Whisper's rules
have expanded contractions and removed brackets before; AudioBench's own rules for these find nothing more. `cannot`,
`gimme` and `dunno` stay. Source of the rules, not of the code: AudioBench's `preprocess_text_asr`, commit e991641.

The rate does not compare with `wer`: hesitations never count, and a clip without reference words has a rate.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import jiwer

from speechiq.core.response import response_of
from speechiq.engines.languages import FIELD, UNSPACED
from speechiq.metrics.columns import SPREAD, lower, returns, spread
from speechiq.metrics.words import wer as ours
from speechiq.metrics.words.normalizer import normalize
from speechiq.metrics.words.units import MIXED, UNIT, WORD, separate
from speechiq.metrics.words.wer import ErrorRate, Errors, count_errors, pair_texts, pool

EMPTY = "empty"
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
#: Each number that is written as a word -> the word.
NUMBERS = {str(value): word for value, word in enumerate(_SMALL.split())} | {
    str(10 * value): word for value, word in enumerate(_TENS.split(), start=2)
}
_NUMBER = re.compile(r"\b[0-9]{1,2}\b")
_FILLER = re.compile(r"\b(?:uh|umm?|er|ah)\b")


def wer_audiobench(reference: str | Sequence[str], hypothesis: str | Sequence[str]) -> float:
    """Return the word error rate by AudioBench's normalization, of one text or of several together.

    A reference without words has one, "empty". NaN for empty lists.

    >>> wer_audiobench("Uh, it cost $20.", "it cost twenty dollars um")
    0.0
    >>> wer_audiobench("", ""), wer_audiobench("um", "hello there")
    (0.0, 2.0)
    """
    return pool(_rate(*pair) for pair in pair_texts(reference, hypothesis))


def _rate(reference: str, hypothesis: str, unit: str = WORD) -> ErrorRate:
    spoken, written = (separate(normalize_audiobench(text), unit, None) for text in (reference, hypothesis))
    return ErrorRate(count_errors(spoken, written))


def normalize_audiobench(text: str) -> str:
    """Return a text as this normalization writes it.

    >>> normalize_audiobench("Er, I'd say 2,000 people (or 21st place), twenty-one of 50%, cannot come.")
    'i would say 2000 people 21 of fifty cannot come'
    >>> normalize_audiobench("Um ... [noise]")
    'empty'
    """
    with_words = _NUMBER.sub(lambda number: NUMBERS.get(number[0], number[0]), normalize(text, "whisper"))
    plain = " ".join(_FILLER.sub("", _make_deleter()(with_words)).split())
    return plain or EMPTY


@cache
def _make_deleter() -> jiwer.RemovePunctuation:
    """Return a function that deletes punctuation; it looks through all characters when it is made."""
    return jiwer.RemovePunctuation()  # type: ignore[no-untyped-call] # jiwer does not annotate it


@returns(ours.COLUMNS, lower("wer_audiobench", aggregation=pool), lower(SPREAD, aggregation=spread))
def score(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Return the columns of `wer.score` and `wer_audiobench`, which can be pooled; for transcripts of AudioBench.

    `wer_audiobench` is NaN for a language without spaces between words. Of speech that switches between Chinese and
    English (`unit: mixed`), each Chinese character counts as a word.

    >>> rates = score({"text": "Um, so it goes"}, ["so it goes ah"])
    >>> rates["wer"], rates["wer_audiobench"]
    (0.3333333333333333, 0.0)
    """
    unit = doc.get(UNIT, WORD)
    has_words = unit == MIXED or doc.get(FIELD) not in UNSPACED
    rate = _rate(doc["text"], response_of(results[0]).text, unit) if has_words else ErrorRate(Errors())
    return ours.score(doc, results) | {"wer_audiobench": rate}
