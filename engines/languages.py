"""Name languages by their codes, and say which are written without spaces between words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import regex

from speechiq.core.errors import SpeechIQError
from speechiq.engines._transformers import whisper_language_codes

#: Key of metadata with the language of a data set, and the field of its docs that has it.
KEY, FIELD = "language", "spoken_language"
#: Key of metadata with the language of the prompt of Apply, and its value for that of the data set.
PROMPT_LANGUAGE, OWN = "prompt_language", "own"
#: Value of an option that follows the language of the data set, and the end of the description of such an option.
AUTO, FOLLOWS = "auto", "without it, or with auto, that of the data set, else en"
ENGLISH = "en"
#: Languages without spaces between words, whose errors are counted by characters.
UNSPACED = frozenset({"bo", "cmn", "dz", "hak", "ja", "km", "lo", "my", "nan", "shn", "th", "wuu", "yue", "zh"})
UNSPACED_SIGNS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}\p{Tibetan}]")
#: Languages that recognizers and language identification take for one another, or know by another code; the most
#: usual code first.
_ALIKE = (
    ("zh", "cmn", "yue", "wuu"),
    ("no", "nb", "nn"),
    ("hr", "sr", "bs"),
    ("id", "ms"),
    ("tl", "fil"),
    ("jv", "jw"),
)
_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*")


def read_language(metadata: Mapping[str, Any]) -> str | None:
    """Return the code of the language of a data set without its region or script; None if it names none.

    >>> read_language({"language": "zh-Hant"}), read_language({"language": "German"}), read_language({})
    ('zh', 'de', None)
    """
    code = metadata.get(KEY)
    if code in (None, AUTO):
        return None
    if not isinstance(code, str) or not (_CODE.fullmatch(code) or code.lower() in whisper_language_codes()):
        raise SpeechIQError(f"metadata.{KEY}", f"{code!r:.80} is not the code of a language", "write one such as de")
    return code.partition("-")[0] if _CODE.fullmatch(code) else whisper_language_codes()[code.lower()]


def list_alike(code: str) -> tuple[str, ...]:
    """Return the codes that are the same as this one, or often taken for it, and itself; the most usual one first.

    >>> list_alike("nb"), list_alike("de")
    (('no', 'nb', 'nn'), ('de',))
    """
    return next((codes for codes in _ALIKE if code in codes), (code,))


def is_unspaced(text: str) -> bool:
    """Return whether a text is mostly in scripts without spaces between words, and has none.

    >>> is_unspaced("我不知道这件事"), is_unspaced("我 不知道 这 件 事"), is_unspaced("I do not know 东京")
    (True, False, False)
    """
    signs = len(UNSPACED_SIGNS.findall(text))
    return signs > sum(map(str.isalpha, text)) / 2 and signs > 4 * len(text.split())
