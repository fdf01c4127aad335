"""Identify the language of a text by py3langid; only a clear finding counts."""

import math
from collections.abc import Iterable
from functools import cache
from typing import Any

from speechiq.core.console import say
from speechiq.engines.languages import KEY, UNSPACED_SIGNS, list_alike

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
