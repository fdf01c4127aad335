"""Identify the language of a text, and choose the units in which errors are counted by language.

They are words, characters, or both for code-switched texts.

Languages without spaces between words are scored by characters (CER), and their spaces do not count. All others are
scored by words (WER). The mixed error rate (MER) is for texts that switch between languages: each Chinese or Japanese
character is a unit, and so is each word of other scripts.

The language is identified by py3langid; only a clear finding counts.
"""

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal

import regex
from msgspec import Meta

from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.engines.languages import AUTO, KEY, UNSPACED, UNSPACED_SIGNS, is_unspaced, list_alike, read_language
from speechiq.engines.options import Options
from speechiq.metrics.columns import Columns, lower, mean
from speechiq.metrics.settings import read_record

#: Fewest words from which a language is certain; in scripts without spaces, fewest characters.
FEWEST_WORDS = 4
#: Probability from which another language is certain.
CERTAIN = 0.9


def is_other_language(text: str, language: str) -> bool:
    """Return whether a text is clearly in another language than the one with this code.

    >>> is_other_language("Der Zug fährt um acht Uhr ab.", "en"), is_other_language("Hallo du da vorn", "de")
    (True, False)
    """
    code, probability = _identifier().classify(text)
    return bool(code not in list_alike(language) and probability >= CERTAIN)


def wrong_language(text: str, language: str) -> float:
    """Return 1 if a transcript is clearly in another language, else 0; NaN if it is short, or the language not known.

    >>> wrong_language("Der Zug fährt um acht Uhr ab.", "fr"), wrong_language("Der Zug fährt um acht Uhr ab.", "de")
    (1.0, 0.0)
    >>> wrong_language("我不知道", "zh"), wrong_language("Ja.", "de")
    (0.0, nan)
    """
    size = len(text.split()) + len(UNSPACED_SIGNS.findall(text))
    if size < FEWEST_WORDS or not {*list_alike(language)} & {*_identifier().labels}:
        return math.nan
    return float(is_other_language(text, language))


def warn_other_language(texts: Iterable[str], language: str) -> None:
    """Say that most references are clearly in another language than that of their data set, if so.

    This is not an error, since languages that are much alike may be taken for one another.
    """
    known = [text for text in texts if not math.isnan(wrong_language(text, language))]
    others = [text for text in known if is_other_language(text, language)]
    if len(others) > len(known) / 2:
        say(
            f"metadata.{KEY}={language}: {len(others)} of {len(known)} references seem to be in another language, such "
            f"as {others[0][:40]!r}; recognizers are given {language}"
        )


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


UNIT = "unit"
WORD, CHARACTER, MIXED = "word", "character", "mixed"
#: Unit -> the column of its error rate, and the heading.
MEASURES = {WORD: ("wer", "WER %"), CHARACTER: ("cer", "CER %"), MIXED: ("mer", "MER %")}
_CJK = regex.compile(r"([\p{Han}\p{Hiragana}\p{Katakana}ー])")


class UnitSettings(Options, frozen=True, kw_only=True):
    """Define the unit in which errors are counted."""

    unit: Annotated[
        Literal["auto", "word", "character", "mixed"],
        Meta(
            description="Unit in which errors are counted: words (WER), characters (CER) or both (MER); auto chooses "
            "it by the language."
        ),
    ] = "auto"


def read_unit(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return `unit` of a task; empty for a task that names neither a language nor a unit, which has words.

    >>> read_unit({"language": "th"}), read_unit({"language": "de", "unit": "character"}), read_unit({})
    ({'unit': 'character'}, {'unit': 'character'}, {})
    """
    if not {KEY, UNIT} & metadata.keys():
        return {}
    language, unit = read_language(metadata), read_record(UnitSettings, metadata).unit
    usual = CHARACTER if language in UNSPACED else WORD
    if unit == WORD != usual:
        raise SpeechIQError(
            f"unit={unit}", f"{language} is written without spaces, so a sentence is one word", "give unit=auto"
        )
    return {UNIT: usual if unit == AUTO else unit}


def describe_measure(metadata: Mapping[str, Any]) -> tuple[dict[str, Any], Columns]:
    """Return what the unit of a task changes in its metadata, and the columns that its language and unit add."""
    unit = read_unit(metadata).get(UNIT, WORD)
    column, heading = MEASURES[unit]
    language, measure = read_language(metadata), metadata["measure"]
    columns: Columns = ()
    if unit == MIXED:
        columns += lower(column)
    if language is not None:
        columns += lower("wrong_language", aggregation=mean)
    if unit == WORD:
        return {}, columns
    usual = {measure["column"]: {UNIT: measure[UNIT]}} | measure["alternatives"]
    others = {name: about for name, about in usual.items() if name != column and language not in UNSPACED}
    return {"measure": measure | {"column": column, UNIT: heading, "alternatives": others}}, columns


def separate(text: str, unit: str, language: str | None) -> str:
    """Return a normalized text in which the units of an error rate can be counted.

    >>> separate("我 爱 你", "character", "zh"), separate("我爱 the beatles", "mixed", "zh")
    ('我爱你', '我 爱 the beatles')
    """
    if unit == MIXED:
        return " ".join(_CJK.sub(r" \1 ", text).split())
    return text.replace(" ", "") if unit == CHARACTER and language in UNSPACED else text


def refuse_unspaced(docs: Iterable[Mapping[str, Any]], option: str = f"--metadata {KEY}") -> None:
    """Refuse references without spaces between words, if errors are counted by words.

    `option` is what a user gives the language with, for the error.

    Raises:
        SpeechIQError: More than half of the references are such texts.
    """
    texts = [str(doc["text"]) for doc in docs if doc.get(UNIT, WORD) == WORD]
    unspaced = [text for text in texts if is_unspaced(text)]
    if len(unspaced) > len(texts) / 2:
        raise SpeechIQError(
            "the error rate of words",
            f"{len(unspaced)} of {len(texts)} references have no spaces, such as {unspaced[0][:20]!r}",
            f"give the {KEY}, such as {option}=zh, which counts characters",
        )
