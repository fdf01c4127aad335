"""Normalize texts: two written forms of the same words become equal.

`english` and `basic` are the rules of OpenAI's Whisper, as transformers carries them, with OpenAI's table of British
and American words (`whisper_spelling.json`; its MIT license is in the same folder). Both are for English only: they
delete combining marks, such as the vowel signs of Hindi, so words that differ in these alone are equal. `multilingual`
keeps the marks.

`openasr-LANGUAGE` follows the Open ASR Leaderboard for languages other than English: the rules of `basic`, then numbers
in words of the language by num2words (a number that it cannot write stays as it is), and compounds that equal their
parts when errors are counted (`metrics/words/compounds.py`). The leaderboard's lists of filler words are not used.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.extras import missing
from speechiq.engines._transformers import whisper_text_rules
from speechiq.engines.languages import AUTO, ENGLISH, read_language

#: Name of each normalizer -> its rules; scores of different rules do not compare.
RULES = {"english": "openai-whisper 20250625", "basic": "openai-whisper 20250625", "multilingual": "speechiq 1"}
DEFAULT = "english"
#: How a language model may read a text: as it is written, or normalized.
TEXTS = ("raw", *RULES)
#: The rules of the Open ASR Leaderboard; `-LANGUAGE` is added.
OPEN_ASR = "openasr"
#: Names that the metadata of a task may give.
NAMES = (AUTO, *RULES, OPEN_ASR)
#: Share of the characters of all references that a normalizer may delete as combining marks.
MOST_LOST = 0.01
# Whisper's rules fail on numbers that Python does not convert.
_LONG_NUMBER = re.compile(r"(?:\d,?){4000}(?=\d)")
_BRITISH_TO_AMERICAN = Path(__file__).with_name("whisper_spelling.json")


def read_normalizer(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return `normalizer` and `normalizer_version` of a task, whose metadata may name the first.

    >>> read_normalizer({})
    {'normalizer': 'english', 'normalizer_version': 'openai-whisper 20250625'}
    """
    kind, language = metadata.get("normalizer", AUTO), read_language(metadata) or ENGLISH
    if kind == AUTO:
        kind = DEFAULT if language == ENGLISH else "multilingual"
    if kind == OPEN_ASR:
        kind = f"{OPEN_ASR}-{language}"
    if not isinstance(kind, str) or (kind not in RULES and not follows_open_asr(kind)):
        raise SpeechIQError(f"normalizer={kind}", "unknown", f"known are {', '.join(NAMES)}")
    if (kind == "english") != (language == ENGLISH) and kind in ("english", f"{OPEN_ASR}-{ENGLISH}"):
        raise SpeechIQError(f"normalizer={kind}", f"not for the language {language}", "give normalizer=auto")
    _normalizer(kind)
    rules = RULES.get(kind) or f"{RULES['basic']}, num2words {version('num2words')}"
    return {"normalizer": kind, "normalizer_version": rules}


def follows_open_asr(kind: str | None) -> bool:
    """Return whether a normalizer is that of the Open ASR Leaderboard for some language."""
    return kind is not None and kind.startswith(f"{OPEN_ASR}-")


def refuse_lost_marks(texts: Iterable[str], kind: str) -> None:
    """Refuse a normalizer that deletes the vowel signs of references, such as those of Hindi, Thai or Arabic.

    >>> refuse_lost_marks(["वह की"], "basic")
    Traceback (most recent call last):
    ...
    speechiq.core.errors.SpeechIQError: normalizer=basic: deletes vowel signs: 'वह की' becomes 'वह क'; \
give normalizer=multilingual
    """
    written = [unicodedata.normalize("NFC", text) for text in texts]
    lost = [(text, _count_marks(text) - _count_marks(normalize(text, kind))) for text in written]
    if sum(count for _, count in lost) > MOST_LOST * sum(map(len, written)):
        text = max(lost, key=lambda pair: pair[1])[0][:20]
        raise SpeechIQError(
            f"normalizer={kind}",
            f"deletes vowel signs: {text!r} becomes {normalize(text, kind)!r}",
            "give normalizer=multilingual",
        )


def _count_marks(text: str) -> int:
    return sum(unicodedata.category(sign) in ("Mn", "Mc") for sign in unicodedata.normalize("NFC", text))


@cache
def _normalizer(kind: str) -> Callable[[str], str]:
    if kind == "multilingual":
        return _keep_words
    basic, english = whisper_text_rules()
    if follows_open_asr(kind):
        if find_spec("num2words") is None:
            raise SpeechIQError(f"normalizer={kind}", missing("num2words"))
        return partial(_write_numbers, basic(), kind.removeprefix(f"{OPEN_ASR}-"))
    if kind not in RULES:
        raise SpeechIQError(f"normalizer={kind}", "unknown", f"known are {', '.join(RULES)}, {OPEN_ASR}-LANGUAGE")
    if kind == "basic":
        return basic()
    rules = english(json.loads(_BRITISH_TO_AMERICAN.read_bytes()))
    return lambda text: rules(_LONG_NUMBER.sub(r"\g<0> ", text))


def _keep_words(text: str) -> str:
    """Return `text` in compatibility form (NFKC) and one case, with a space for each punctuation mark and symbol."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(" " if unicodedata.category(sign)[0] in "PS" else sign for sign in folded)


def _write_numbers(basic: Callable[[str], str], language: str, text: str) -> str:
    """Return `text` by Whisper's basic rules, with whole numbers in words; groups of thousands are joined first."""
    from num2words import num2words

    def in_words(number: re.Match[str]) -> str:
        try:
            return str(num2words(int(number[0]), lang=language))
        except (NotImplementedError, OverflowError, ValueError, IndexError, KeyError, TypeError):
            return number[0]

    return re.sub(r"\d+", in_words, re.sub(r"(\d)\s+(\d{3})\b", r"\1\2", basic(text)))


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
