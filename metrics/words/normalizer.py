"""Normalize texts: two written forms of the same words become equal.

`whisper` and `basic` are the rules of OpenAI's Whisper, as transformers carries them, with OpenAI's table of British
and American words (`whisper_spelling.json`; its MIT license is in the same folder). `english` is `whisper` without its
known faults (`metrics/words/english.py`). All three are for English only: they delete combining marks, such as the
vowel signs of Hindi, so words that differ in these alone are equal. `multilingual` keeps the marks, and
`multilingual-LANGUAGE` lowers I and İ as Turkish and its relatives do.

`openasr-LANGUAGE` follows the Open ASR Leaderboard for languages other than English: the rules of `basic`, then numbers
in words of the language by num2words (a number that it cannot write stays as it is), and compounds that equal their
parts when errors are counted (`metrics/words/compounds.py`). The leaderboard's lists of filler words are not used.

All but `whisper` and `basic` write characters in one form first (`metrics/words/characters.py`).
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.core.extras import missing
from speechiq.engines._transformers import whisper_text_rules
from speechiq.engines.languages import AUTO, ENGLISH, read_language
from speechiq.engines.options import Options
from speechiq.metrics.settings import Text, read_record
from speechiq.metrics.words.characters import DOTTED_I, clean, drop_punctuation, lower_dotted_i
from speechiq.metrics.words.english import EnglishRules

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
        raise SpeechIQError(f"normalizer={kind}", "unknown", f"known are {', '.join(NAMES)}")
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
        basic, _ = whisper_text_rules()
        return partial(_write_numbers, basic(), language)
    if kind == MULTILINGUAL:
        return _keep_words
    if rules == MULTILINGUAL and language in DOTTED_I:
        return lambda text: _keep_words(lower_dotted_i(text))
    if kind not in RULES:
        raise SpeechIQError(f"normalizer={kind}", "unknown", f"known are {', '.join(RULES)}, {OPEN_ASR}-LANGUAGE")
    return _load_whisper(kind)


def _load_whisper(kind: str) -> Callable[[str], str]:
    basic, english = whisper_text_rules()
    if kind == "basic":
        return basic()
    whisper = english(json.loads(_BRITISH_TO_AMERICAN.read_bytes()))
    rules = EnglishRules(whisper) if kind == "english" else whisper
    return lambda text: rules(_LONG_NUMBER.sub(r"\g<0> ", text))


def _keep_words(text: str) -> str:
    """Return `text` in compatibility form (NFKC) and one case, with a space for each punctuation mark and symbol."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", clean(text)).casefold())
    return drop_punctuation(folded)


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


def prepare(text: str, form: str) -> str:
    """Return a text as a language model reads it."""
    return text.strip() if form == "raw" else normalize(text, form)
