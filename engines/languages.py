"""Name languages by their codes, and say which are written without spaces between words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import regex

from speechiq.core.errors import SpeechIQError

#: Key of metadata with the language of a data set, and the field of its docs that has it.
KEY, FIELD = "language", "spoken_language"
#: Value of an option that follows the language of the data set, and the end of the description of such an option.
AUTO, FOLLOWS = "auto", "without it, or with auto, that of the data set, else en"
ENGLISH = "en"
#: Languages without spaces between words, whose errors are counted by characters.
UNSPACED = frozenset({"bo", "cmn", "dz", "hak", "ja", "km", "lo", "my", "nan", "shn", "th", "wuu", "yue", "zh"})
UNSPACED_SIGNS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}\p{Tibetan}]")
#: Languages that recognizers and language identification take for one another, or know by another code.
_ALIKE = (
    {"zh", "cmn", "yue", "wuu"},
    {"no", "nb", "nn"},
    {"hr", "sr", "bs"},
    {"id", "ms"},
    {"tl", "fil"},
    {"jv", "jw"},
)
_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*")


def read_language(metadata: Mapping[str, Any]) -> str | None:
    """Return the language of a data set without its region or script; None if it names none.

    >>> read_language({"language": "zh-Hant"}), read_language({})
    ('zh', None)
    """
    code = metadata.get(KEY)
    if code is not None and not (isinstance(code, str) and _CODE.fullmatch(code)):
        raise SpeechIQError(f"metadata.{KEY}", f"{code!r:.80} is not the code of a language", "write one such as de")
    return None if code is None else code.partition("-")[0]


def are_alike(code: str, other: str) -> bool:
    """Return whether two codes name one language, or two that are often taken for one another.

    >>> are_alike("nb", "no"), are_alike("de", "nl")
    (True, False)
    """
    return code == other or any({code, other} <= languages for languages in _ALIKE)


def is_unspaced(text: str) -> bool:
    """Return whether a text is mostly in scripts without spaces between words, and has none.

    >>> is_unspaced("我不知道这件事"), is_unspaced("我 不知道 这 件 事"), is_unspaced("I do not know 东京")
    (True, False, False)
    """
    signs = len(UNSPACED_SIGNS.findall(text))
    return signs > sum(map(str.isalpha, text)) / 2 and signs > 4 * len(text.split())
