"""Decide whether a reply is in English, by py3langid.

Only a clear finding counts: short replies in Latin letters have no certain language, and count as English.
"""

from __future__ import annotations

from functools import cache
from typing import Any

#: Fewest words in Latin letters from which a language is certain.
FEWEST_WORDS = 4
#: Probability from which another language is certain.
CERTAIN = 0.9


def is_english(text: str) -> bool:
    """Return whether a text is in English, or too short to decide.

    >>> is_english("Take the bus to Paris."), is_english("Der Zug fährt um acht Uhr ab."), is_english("Hola.")
    (True, False, True)
    >>> is_english("我不知道"), is_english("")
    (False, True)
    """
    letters = [char for char in text if char.isalpha()]
    latin = sum(char < "\u0250" for char in letters)
    if latin < len(letters) / 2:
        return False
    if len(text.split()) < FEWEST_WORDS:
        return True
    language, probability = _identifier().classify(text)
    return bool(language == "en" or probability < CERTAIN)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
