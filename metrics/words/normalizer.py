"""Normalize texts: two written forms of the same words become equal.

`whisper` and `basic` are the rules of OpenAI's Whisper, as transformers carries them, with OpenAI's table of British
and American words (`whisper_spelling.json`; its MIT license is in the same folder). `english` is `whisper` without its
known faults (`EnglishRules`). All three are for English only: they delete combining marks, such as the
vowel signs of Hindi, so words that differ in these alone are equal. `multilingual` keeps the marks, and
`multilingual-LANGUAGE` lowers I and İ as Turkish and its relatives do.

`openasr-LANGUAGE` follows the Open ASR Leaderboard for languages other than English: the rules of `basic`, then numbers
in words of the language by num2words (a number that it cannot write stays as it is), and compounds that equal their
parts when errors are counted (`metrics/words/wer.py`). The leaderboard's lists of filler words are not used.

All but `whisper` and `basic` write characters in one form first:

Invisible characters are dropped: those that Unicode calls `Default_Ignorable_Code_Point` (zero-width spaces and
joiners, direction marks, soft hyphens, byte order marks, variation selectors and the like), enclosing marks such as
that of a keycap, and the Arabic tatweel, which only widens a word. So the joiners of Persian and of Indic scripts do
not count either, as in the normalizers of these languages: people and recognizers write the same word with and without
them. Only in Malayalam a joiner can be a letter of its own, the chillu, which is written as that letter.

Apostrophes of all kinds are `'`, and decimal digits of all scripts are ASCII digits.

`english` differs from Whisper's rules in this alone:

* A typographic apostrophe is the typed one.
* An ellipsis at the end is not a word, and neither is a sign of money or a percent sign without a number.
* `one dollar` is `$1` and not `one`, and so are `1%`, `3.1` and `D.1` (pull request 2836 of openai/whisper); `$0.5` is
  fifty cents and not five.
* `0123` keeps its 0, as `oh one two three` does.
* `mm` behind a number is a unit and not a filler: `20 mm` equals `20mm`.
* Digits of other scripts are digits, and invisible characters are dropped.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal

import regex
from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import missing, suggest
from speechiq.engines._transformers import whisper_text_rules
from speechiq.engines.languages import AUTO, ENGLISH, read_language
from speechiq.engines.options import Options
from speechiq.metrics.settings import Text, read_record

#: Languages in which I is the capital of ı, and İ that of i.
DOTTED_I = frozenset({"az", "crh", "gag", "tr"})
_INVISIBLE = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Me}\N{ARABIC TATWEEL}]")
_APOSTROPHES = "‘’ʻʼ´′＇"
# Consonant, virama and joiner of Malayalam -> the letter.
_CHILLU = re.compile("[കണനരലള]\N{MALAYALAM SIGN VIRAMA}\N{ZERO WIDTH JOINER}")
_CHILLUS = {"ക": "ൿ", "ണ": "ൺ", "ന": "ൻ", "ര": "ർ", "ല": "ൽ", "ള": "ൾ"}


#: Parts of texts whose normalized form is kept.
MOST_PARTS = 2**15


class _Table(dict[Any, str]):
    """Map a word, or the number of a character (as `str.translate` does), to what a function makes of it, once."""

    def __init__(self, write: Callable[[Any], str]) -> None:
        super().__init__()
        self._write = write

    def __missing__(self, key: Any) -> str:
        if len(self) >= MOST_PARTS:
            self.clear()
        written = self[key] = self._write(key)
        return written


def _write_plain(number: int) -> str:
    character = chr(number)
    if _INVISIBLE.match(character):
        return ""
    if character in _APOSTROPHES:
        return "'"
    return str(unicodedata.decimal(character, character))


def _write_space(number: int) -> str:
    character = chr(number)
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


def lower_dotted_i(text: str) -> str:
    """Return a Turkish text with its letters I and İ in lower case.

    >>> lower_dotted_i("Işık, İyi")
    'ışık, iyi'
    """
    return unicodedata.normalize("NFC", text).replace("I", "ı").replace("İ", "i")


# Steps of Whisper's rules, in their order.
_IN_BRACKETS = re.compile(r"[<\[][^>\]]*[>\]]")
_IN_PARENTHESES = re.compile(r"\(([^)]+?)\)")
_SPACES = re.compile(r"\s+")
_SPACE_AND_APOSTROPHE = re.compile(r"\s+'")
_THOUSANDS = re.compile(r"(\d),(\d)")
_FULL_STOP = re.compile(r"\.([^0-9]|$)")
_SYMBOLS_OF_NUMBERS = ".%$¢€£"
_SYMBOL_BEFORE_LETTER = re.compile(r"[.$¢€£]([^0-9])")
_PERCENT = re.compile(r"([^0-9])%")
# Repairs of them.
_ELLIPSIS = re.compile(r"\.{2,}|…")
_MILLIMETERS = re.compile(r"(?<=\d)\s+(?=mm\b)", re.IGNORECASE)
# Zeros at the beginning of a number; `_`, which cannot be in the text here, hides the number from Whisper's rules.
_LEADING_ZEROS = re.compile(r"(?<!\S)(?<!point )0\d+(?!\S)")
_HIDDEN = "_"
_DOLLARS_AND_CENTS = re.compile(r"([€£$]\d+) (?:and )?¢(\d{1,2})\b")
_CENTS = re.compile(r"[€£$]0\.(\d{1,2})\b")
_ONE = re.compile(r"(?<!\S)1(s?)(?!\S)")


class BasicRules:
    """Normalize by the steps of Whisper's basic rules; each character is looked up once."""

    def __init__(self, whisper: Any) -> None:
        """Take a `BasicTextNormalizer`, whose function for symbols this calls."""
        self._symbols = _Table(lambda number: whisper.clean(chr(number)))

    def __call__(self, text: str) -> str:
        """Return the normalized text."""
        text = _IN_PARENTHESES.sub("", _IN_BRACKETS.sub("", text.lower()))
        text = unicodedata.normalize("NFKC", text).translate(self._symbols).lower()
        return _SPACES.sub(" ", text)


# Signs of a plain text, which is normalized part by part.
_PLAIN_SIGNS = re.compile("[a-z0-9',.?!;:\\- ]*")
_ENDS = ",.?!;:"
# Words that the rules join to what is in front of them: "he'd been", "20 s".
_JOINED = {"been", "gone", "done", "got"} | {number[1:] for number in ("1st", "2nd", "3rd", "4th", "1s")}


class EnglishRules:
    """Normalize by the steps of Whisper's English rules, with the repairs of this module.

    Whisper searches every text for each of its contractions and titles. Here a text is searched only for those whose
    letters it has, and each character is looked up once, so that a text takes a fifth of the time. A plain text is also
    cut around the words that no rule joins to others, which are most words; what a part becomes is kept for the next
    text.
    """

    def __init__(self, whisper: Any, write_symbol: Callable[..., str]) -> None:
        """Take the words and patterns of an `EnglishTextNormalizer`, and its function for symbols and diacritics."""
        self._fillers = re.compile(whisper.ignore_patterns)
        self._replacements = [
            (pattern.replace(r"\b", ""), re.compile(pattern), written) for pattern, written in whisper.replacers.items()
        ]
        self._symbols = _Table(lambda number: write_symbol(chr(number), keep=_SYMBOLS_OF_NUMBERS))
        self._numbers = whisper.standardize_numbers
        self._write_american: Callable[[str], str] = whisper.standardize_spellings
        self._filler_before_apostrophe = re.compile(f"{whisper.ignore_patterns}'")
        self._alone = _Table(self._write_if_alone)
        self._parts = _Table(self._write)

    def __call__(self, text: str) -> str:
        """Return the normalized text."""
        plain = clean(text).strip(" ").lower()
        if not self._has_parts(plain):
            return self._write(text)
        words = plain.split(" ")
        written = list(map(self._alone.__getitem__, words))
        return " ".join(self._write_rest(words, written) if "" in written else written)

    def _write_rest(self, words: Sequence[str], written: Sequence[str]) -> Iterator[str]:
        """Yield the words that stand alone as they are `written`, and the others ("") with those beside them."""
        joined: list[str] = []
        for word, alone in zip(words, written, strict=True):
            if not alone:
                joined.append(word)
                continue
            if joined:
                yield self._parts[" ".join(joined)]
                joined = []
            yield alone
        if joined:
            yield self._parts[" ".join(joined)]

    def _has_parts(self, text: str) -> bool:
        """Return whether no rule joins words that stand alone: spaces are single, and no apostrophe is behind one.

        "And a half" is joined to the number in front of it.
        """
        joined = ("  ", " '", "half")
        if not _PLAIN_SIGNS.fullmatch(text) or text.startswith("'") or any(sign in text for sign in joined):
            return False
        return "'" not in text or not self._filler_before_apostrophe.search(text)

    def _write_if_alone(self, word: str) -> str:
        """Normalize a word by itself; return "" if it does not become one word, or depends on its neighbors."""
        written = self._parts[word]
        kept = (word.rstrip(_ENDS), written.strip())
        alone = all(each.isalpha() and each not in _JOINED and not self._can_be_number(each) for each in kept)
        return written if alone else ""

    def _write(self, text: str) -> str:
        """Return a text by all rules, one after the other."""
        text = _MILLIMETERS.sub("", _ELLIPSIS.sub(" ", clean(text))).lower()
        text = _IN_PARENTHESES.sub("", _IN_BRACKETS.sub("", text))
        text = _SPACE_AND_APOSTROPHE.sub("'", self._fillers.sub("", text))
        for letters, pattern, written in self._replacements:
            if letters in text:
                text = pattern.sub(written, text)
        text = _FULL_STOP.sub(r" \1", _THOUSANDS.sub(r"\1\2", text))
        text = unicodedata.normalize("NFKD", text).translate(self._symbols)
        text = self._write_american(self._write_numbers(text))
        text = _PERCENT.sub(r"\1 ", _SYMBOL_BEFORE_LETTER.sub(r" \1", text))
        return text.rstrip(" .$¢€£").lstrip(" %")

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


#: Name of each normalizer -> its rules; scores of different rules do not compare.
RULES = {
    "english": "speechiq 2",
    "whisper": "openai-whisper 20250625",
    "basic": "openai-whisper 20250625",
    "multilingual": "speechiq 2",
}
DEFAULT = "english"
ENGLISH_ONLY = ("english", "whisper")
#: How a language model may read a text: as it is written, or normalized.
TextForm = Literal["raw", "english", "whisper", "basic", "multilingual"]
MULTILINGUAL = "multilingual"
#: The rules of the Open ASR Leaderboard; `-LANGUAGE` is added.
OPEN_ASR = "openasr"
#: Names that the metadata of a task may give.
NAMES = (AUTO, *RULES, OPEN_ASR)
#: Share of the characters of all references that a normalizer may delete as combining marks.
MOST_LOST = 0.01
# Whisper's rules fail on numbers that Python does not convert.
_LONG_NUMBER = re.compile(r"(?:\d,?){4000}(?=\d)")
_BRITISH_TO_AMERICAN = Path(__file__).with_name("whisper_spelling.json")


class NormalizerSettings(Options, frozen=True, kw_only=True):
    """Define how transcript and reference are written in one form."""

    normalizer: Annotated[
        Text,
        Meta(
            description="Rules that write transcript and reference in one form before errors are counted: "
            f"{', '.join(NAMES[1:])}; auto chooses them by the language ([languages](../how-to/languages.md))."
        ),
    ] = AUTO


def read_normalizer(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return `normalizer` and `normalizer_version` of a task, whose metadata may name the first.

    >>> read_normalizer({})
    {'normalizer': 'english', 'normalizer_version': 'speechiq 2'}
    >>> read_normalizer({"language": "tr"})["normalizer"]
    'multilingual-tr'
    """
    kind, language = read_record(NormalizerSettings, metadata).normalizer, read_language(metadata) or ENGLISH
    if kind == AUTO:
        kind = DEFAULT if language == ENGLISH else MULTILINGUAL
    if kind not in (*NAMES, name_rules(MULTILINGUAL, language), name_rules(OPEN_ASR, language)):
        raise SpeechIQError(f"normalizer={kind}", "unknown", suggest(kind, NAMES))
    is_english = kind in ENGLISH_ONLY
    if is_english != (language == ENGLISH) and (is_english or kind.startswith(OPEN_ASR)):
        raise SpeechIQError(f"normalizer={kind}", f"not for the language {language}", "give normalizer=auto")
    kind = name_rules(kind, language)
    _normalizer(kind)
    rules = RULES.get(kind.partition("-")[0])
    rules = rules or f"{RULES[MULTILINGUAL]}, {RULES['basic']}, num2words {version('num2words')}"
    return {"normalizer": kind, "normalizer_version": rules}


def name_rules(kind: str, language: str | None) -> str:
    """Return the name of the rules of a normalizer in a language.

    >>> name_rules("multilingual", "az"), name_rules("multilingual", "de"), name_rules("openasr", "de")
    ('multilingual-az', 'multilingual', 'openasr-de')
    """
    differs = kind == OPEN_ASR or (kind == MULTILINGUAL and language in DOTTED_I)
    return f"{kind}-{language}" if differs else kind


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
    visible = clean(unicodedata.normalize("NFC", text))
    return sum(unicodedata.category(sign) in ("Mn", "Mc") for sign in visible)


@cache
def _normalizer(kind: str) -> Callable[[str], str]:
    rules, _, language = kind.partition("-")
    if rules == OPEN_ASR and language:
        if find_spec("num2words") is None:
            raise SpeechIQError(f"normalizer={kind}", missing("num2words"))
        basic, _, _ = whisper_text_rules()
        return partial(_write_numbers, BasicRules(basic()), language)
    if kind == MULTILINGUAL:
        return _keep_words
    if rules == MULTILINGUAL and language in DOTTED_I:
        return lambda text: _keep_words(lower_dotted_i(text))
    if kind not in RULES:
        raise SpeechIQError(f"normalizer={kind}", "unknown", f"{suggest(kind, RULES)}, {OPEN_ASR}-LANGUAGE")
    return _load_whisper(kind)


def _load_whisper(kind: str) -> Callable[[str], str]:
    basic, english, write_symbol = whisper_text_rules()
    if kind == "basic":
        return BasicRules(basic())
    whisper = english(json.loads(_BRITISH_TO_AMERICAN.read_bytes()))
    rules = EnglishRules(whisper, write_symbol) if kind == "english" else whisper
    return lambda text: rules(_LONG_NUMBER.sub(r"\g<0> ", text))


def _keep_words(text: str) -> str:
    """Return `text` in compatibility form (NFKC) and one case, with a space for each punctuation mark and symbol."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", clean(text)).casefold())
    return folded.translate(_SPACED)


def _write_numbers(basic: Callable[[str], str], language: str, text: str) -> str:
    """Return `text` by Whisper's basic rules, with whole numbers in words; groups of thousands are joined first."""
    from num2words import num2words

    def in_words(number: re.Match[str]) -> str:
        try:
            return str(num2words(int(number[0]), lang=language))
        except (NotImplementedError, OverflowError, ValueError, IndexError, KeyError, TypeError):
            return number[0]

    text = clean(text)
    text = lower_dotted_i(text) if language in DOTTED_I else text
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


def prepare_text(text: str, form: str) -> str:
    """Return a text as a language model reads it."""
    return text.strip() if form == "raw" else normalize(text, form)
