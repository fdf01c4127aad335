"""Name languages by their codes, and say which are written without spaces between words."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import regex

from speechiq.core.console import list_some
from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean, find_nearest
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
#: Code of three letters (ISO 639-2 and 639-3) -> that of two letters (ISO 639-1), for languages that have both.
_SHORTER = {
    long: short
    for short, long in re.findall(r"(\w+):(\w+)", Path(__file__).with_name("iso_639.txt").read_text(encoding="ascii"))
}
#: What speakers call the languages of the bundled sets -> code; elsewhere a near English name would be suggested.
_OWN_NAMES = {
    "deutsch": "de",
    "español": "es",
    "castellano": "es",
    "français": "fr",
    "italiano": "it",
    "português": "pt",
    "nederlands": "nl",
    "polski": "pl",
    "türkçe": "tr",
    "русский": "ru",
    "українська": "uk",
    "العربية": "ar",
    "हिन्दी": "hi",
    "中文": "zh",
    "日本語": "ja",
    "한국어": "ko",
}
#: Languages that the error about an unknown one lists.
_MOST_LISTED = 12
#: How similar a known name or code must be to be suggested (`difflib` ratio).
_SIMILAR = 0.7
_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*")


def read_language(metadata: Mapping[str, Any], key: str = KEY) -> str | None:
    """Return the code of the language of a data set without its region or script; None if it names none.

    `key` is the key of metadata that has it. Codes of two letters are of ISO 639-1; those of three letters are for
    languages without one.

    >>> read_language({"language": "zh-Hant"}), read_language({"language": "Deutsch"}), read_language({})
    ('zh', 'de', None)
    """
    if (code := metadata.get(key)) in (None, AUTO):
        return None
    text = str(code)
    base = text.partition("-")[0]
    if _CODE.fullmatch(text) and _is_code(base):
        return base
    if named := {**whisper_language_codes(), **_OWN_NAMES}.get(text.lower()):
        return named
    near = _find_near(text)
    fix = f"did you mean {near}?" if near else "write one such as de"
    if code is False:
        fix = "write 'no' in quotes, which YAML reads as false without them"
    raise SpeechIQError(f"metadata.{key}", f"{text!r:.80} is not the code of a language", fix)


def name_language(code: str) -> str | None:
    """Return the English name of a language; None for one that has no name here.

    >>> name_language("zh"), name_language("ta"), name_language("bo"), name_language("dz")
    ('Chinese', 'Tamil', 'Tibetan', None)
    """
    return next((name.title() for name, known in whisper_language_codes().items() if known == code), None)


def _is_code(base: str) -> bool:
    """Return whether a code is of ISO 639-1, or of three letters for a language without a code of two."""
    if len(base) == 2:
        return base in _SHORTER.values() or list_alike(base) != (base,)
    return base not in _SHORTER


def _find_near(text: str) -> str | None:
    """Return the code of the language that a user may have meant (`deu_Latn`, `DE`, `Germn`); None if none is near."""
    start = re.split(r"[^a-z]", text.lower())[0]
    codes = {**whisper_language_codes(), **_SHORTER, **{code: code for code in _SHORTER.values()}}
    if start in codes:
        return codes[start]
    if len(start) < 3 or (near := find_nearest(start, codes, _SIMILAR)) is None:
        return None
    return codes[near]


def refuse_language(language: str, name: str, known: Sequence[str]) -> NoReturn:
    """Refuse the option `asr_language` of a recognizer that does not know it; `name` is the recognizer in the error."""
    meant = _find_near(language)
    near = f"did you mean {meant}? " if meant in known else did_you_mean(language, known)
    fix = f"{near}it knows {list_some(known, _MOST_LISTED)}"
    raise SpeechIQError(f"asr_language={language}", f"unknown to {name}", fix)


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
