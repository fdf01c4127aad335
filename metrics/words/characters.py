"""Write characters in one form, where different ones are the same text.

Invisible characters are dropped: those that Unicode calls `Default_Ignorable_Code_Point` (zero-width spaces and
joiners, direction marks, soft hyphens, byte order marks, variation selectors and the like), enclosing marks such as
that of a keycap, and the Arabic tatweel, which only widens a word. So the joiners of Persian and of Indic scripts do
not count either, as in the normalizers of these languages: people and recognizers write the same word with and without
them. Only in Malayalam a joiner can be a letter of its own, the chillu, which is written as that letter.

Apostrophes of all kinds are `'`, and decimal digits of all scripts are ASCII digits.
"""

import re
import unicodedata
from collections.abc import Callable

import regex

#: Languages in which I is the capital of ı, and İ that of i.
DOTTED_I = frozenset({"az", "crh", "gag", "tr"})
_INVISIBLE = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Me}\N{ARABIC TATWEEL}]")
_APOSTROPHES = "‘’ʻʼ´′＇"
# Consonant, virama and joiner of Malayalam -> the letter.
_CHILLU = re.compile("[കണനരലള]\N{MALAYALAM SIGN VIRAMA}\N{ZERO WIDTH JOINER}")
_CHILLUS = {"ക": "ൿ", "ണ": "ൺ", "ന": "ൻ", "ര": "ർ", "ല": "ൽ", "ള": "ൾ"}


class _Table(dict[int, str]):
    """Map the number of a character to what a function makes of it, and remember it; for `str.translate`."""

    def __init__(self, write: Callable[[str], str]) -> None:
        super().__init__()
        self._write = write

    def __missing__(self, number: int) -> str:
        self[number] = self._write(chr(number))
        return self[number]


def _write_plain(character: str) -> str:
    if _INVISIBLE.match(character):
        return ""
    if character in _APOSTROPHES:
        return "'"
    return str(unicodedata.decimal(character, character))


def _write_space(character: str) -> str:
    return " " if unicodedata.category(character)[0] in "PS" else character


_PLAIN, _SPACED = _Table(_write_plain), _Table(_write_space)


def clean(text: str) -> str:
    r"""Return a text without invisible characters, with plain apostrophes and digits.

    >>> clean("don’t\u200b pay ٤٢"), clean("می\u200cخواهم") == "میخواهم"
    ("don't pay 42", True)
    """
    if text.isascii():
        return text
    return _CHILLU.sub(lambda found: _CHILLUS[found[0][0]], text).translate(_PLAIN)


def drop_punctuation(text: str) -> str:
    """Return a text with a space for each punctuation mark and symbol."""
    return text.translate(_SPACED)


def lower_dotted_i(text: str) -> str:
    """Return a Turkish text with its letters I and İ in lower case.

    >>> lower_dotted_i("Işık, İyi")
    'ışık, iyi'
    """
    return unicodedata.normalize("NFC", text).replace("I", "ı").replace("İ", "i")
