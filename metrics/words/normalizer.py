"""Normalize texts: two written forms of the same words become equal.

`english` and `basic` are the rules of OpenAI's Whisper, as transformers carries them, with OpenAI's table of British
and American words (`whisper_spelling.json`; its MIT license is in the same folder). Both are for English only: they
delete combining marks, such as the vowel signs of Hindi, so words that differ in these alone are equal. `multilingual`
keeps the marks.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.engines._transformers import whisper_text_rules

#: Name of each normalizer -> its rules; scores of different rules do not compare.
RULES = {"english": "openai-whisper 20250625", "basic": "openai-whisper 20250625", "multilingual": "speechiq 1"}
DEFAULT = "english"
#: How a language model may read a text: as it is written, or normalized.
TEXTS = ("raw", *RULES)
# Whisper's rules fail on numbers that Python does not convert.
_LONG_NUMBER = re.compile(r"(?:\d,?){4000}(?=\d)")
_BRITISH_TO_AMERICAN = Path(__file__).with_name("whisper_spelling.json")


def read_normalizer(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return `normalizer` and `normalizer_version` of a task, whose metadata may name the first.

    >>> read_normalizer({})
    {'normalizer': 'english', 'normalizer_version': 'openai-whisper 20250625'}
    """
    kind = metadata.get("normalizer", DEFAULT)
    _refuse_unknown(kind)
    return {"normalizer": kind, "normalizer_version": RULES[kind]}


def _refuse_unknown(kind: object) -> None:
    if not isinstance(kind, str) or kind not in RULES:
        raise SpeechIQError(f"normalizer={kind}", "unknown", f"known are {', '.join(RULES)}")


@cache
def _normalizer(kind: str) -> Callable[[str], str]:
    _refuse_unknown(kind)
    if kind == "multilingual":
        return _keep_words
    basic, english = whisper_text_rules()
    if kind == "basic":
        return basic()
    rules = english(json.loads(_BRITISH_TO_AMERICAN.read_bytes()))
    return lambda text: rules(_LONG_NUMBER.sub(r"\g<0> ", text))


def _keep_words(text: str) -> str:
    """Return `text` in compatibility form (NFKC) and one case, with a space for each punctuation mark and symbol."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(" " if unicodedata.category(sign)[0] in "PS" else sign for sign in folded)


def normalize(text: str, kind: str | None = DEFAULT) -> str:
    """Return `text` as the normalizer `kind` writes it, with single spaces; None is a text as written.

    >>> normalize("Mr. Lee paid two thousand, uh, dollars.")
    'mister lee paid $2000'
    >>> normalize("Mr. Lee paid two thousand, uh, dollars.", "basic")
    'mr lee paid two thousand uh dollars'
    >>> normalize("कि, की!"), normalize("कि, की!", "multilingual")
    ('क क', 'कि की')
    """
    return " ".join((text if kind is None else _normalizer(kind)(text)).split())


def prepare(text: str, form: str) -> str:
    """Return a text as a language model reads it; `form` is one of `TEXTS`."""
    return text.strip() if form == "raw" else normalize(text, form)
