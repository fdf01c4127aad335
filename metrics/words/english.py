"""Normalize English texts by Whisper's rules without their known faults.

The rules differ from Whisper's in this alone:

* A typographic apostrophe is the typed one.
* An ellipsis at the end is not a word, and neither is a sign of money or a percent sign without a number.
* `one dollar` is `$1` and not `one`, and so are `1%`, `3.1` and `D.1` (pull request 2836 of openai/whisper); `$0.5` is
  fifty cents and not five.
* `0123` keeps its 0, as `oh one two three` does.
* `mm` behind a number is a unit and not a filler: `20 mm` equals `20mm`.
* Digits of other scripts are digits, and invisible characters are dropped (`metrics/words/characters.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby
from typing import Any

from speechiq.metrics.words.characters import clean

_ELLIPSIS = re.compile(r"\.{2,}|…")
_MILLIMETERS = re.compile(r"(?<=\d)\s+(?=mm\b)", re.IGNORECASE)
# Zeros at the beginning of a number; `_`, which cannot be in the text here, hides the number from Whisper's rules.
_LEADING_ZEROS = re.compile(r"(?<!\S)(?<!point )0\d+(?!\S)")
_HIDDEN = "_"
_DOLLARS_AND_CENTS = re.compile(r"([€£$]\d+) (?:and )?¢(\d{1,2})\b")
_CENTS = re.compile(r"[€£$]0\.(\d{1,2})\b")
_ONE = re.compile(r"(?<!\S)1(s?)(?!\S)")


class EnglishRules:
    """Normalize by Whisper's English rules, with the repairs of this module."""

    def __init__(self, whisper: Any) -> None:
        """Take an `EnglishTextNormalizer`, and put the writing of numbers of this class in the place of its own."""
        self._rules: Callable[[str], str] = whisper
        self._numbers = whisper.standardize_numbers
        whisper.standardize_numbers = self._write_numbers

    def __call__(self, text: str) -> str:
        """Return the normalized text."""
        text = _MILLIMETERS.sub("", _ELLIPSIS.sub(" ", clean(text)))
        return self._rules(text).rstrip(" .$¢€£").lstrip(" %")

    def _write_numbers(self, text: str) -> str:
        """Return a text with its numbers in digits, as Whisper's `EnglishNumberNormalizer` writes them."""
        text = _LEADING_ZEROS.sub(rf"{_HIDDEN}\g<0>", self._numbers.preprocess(text))
        words: list[str] = []
        for is_number, run in groupby(text.split(), self._can_be_number):
            spoken = list(run)
            words += self._numbers.process_words(spoken) if is_number else spoken
        text = " ".join(words).replace(_HIDDEN, "")
        if "$" in text or "£" in text or "€" in text:
            text = _DOLLARS_AND_CENTS.sub(lambda money: f"{money[1]}.{int(money[2]):02d}", text)
            text = _CENTS.sub(lambda money: f"¢{int(money[1].ljust(2, '0'))}", text)
        return _ONE.sub(r"one\1", text)

    def _can_be_number(self, word: str) -> bool:
        return word in self._numbers.words or not word.isalpha()
