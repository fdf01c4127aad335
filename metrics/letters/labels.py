"""Read the label that an answer gives, of a closed set such as emotions, by rule.

A label is named by its own name and by the words that its task lists for it. A word counts if it is a whole word of the
answer and is not denied in its clause. An answer that names none of the labels, or several, is unparsed (`?`).
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from speechiq.metrics.letters.mentions import strip_answer
from speechiq.metrics.letters.options import UNPARSED

__all__ = ["UNPARSED", "parse_label"]

_NAME = "[\ue000-\uf8ff]"
#: Denials in front of the name of a label.
_DENIAL = (
    r"(?:\b(?:not(?! only| just| merely)|never|no(?! doubt| question)|none|neither|nor|nothing(?! but)|nobody|hardly|"
    r"than|without(?! (?:a |any )?doubt)|instead of|as opposed to|unlike|far from|anything but|lack(?:s|ing)?|"
    r"absence of|devoid of|free (?:of|from)|exclud\w+|rul\w+ out)|n't)(?!\w)"
)
#: A denial holds for a few words, but not beyond a word that begins a new statement.
_WORDS = r"(?:\s+(?!(?:but|so|because|since|and|as|yet|though)\b)[\w'-]+){0,5}?"
_ANOTHER = rf"(?:(?:\s*,\s*{_NAME})*(?:\s*,?\s+n?or|\s+and|\s*/)\s*(?:\s(?:an?|any|the|even)\s+)?{_NAME})*"
_DENIED = re.compile(rf"{_DENIAL}{_WORDS}\s*({_NAME}{_ANOTHER})", re.IGNORECASE)
_DENIED_AFTER = re.compile(
    rf"({_NAME})(?:\s*\?\s*no\b|\s+(?:(?:is|was|seems|can|does)\s+)?(?:(?:be|clearly|also)\s+)?"
    r"(?:not|isn't|wasn't|doesn't|can't|cannot|absent|wrong|incorrect|unlikely|missing|ruled out|excluded)\b)",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[*_`\"“”()\[\]]+")


def parse_label(answer: str, labels: Mapping[str, Sequence[str]]) -> str:
    """Return the only label that an answer names, or `?`; each label has further words that name it.

    Reasoning up to `</think>` is left out.

    >>> labels = {"joy": ["happy", "joyful"], "anger": ["angry"], "neutral": []}
    >>> parse_label("She sounds **happy**, not angry.", labels), parse_label("Joy or anger.", labels)
    ('joy', '?')
    >>> parse_label("Neither joy nor anger; neutral.", labels), parse_label("Not a hint of joy.", labels)
    ('neutral', '?')
    >>> parse_label("Unhappy!", labels), parse_label("", labels)
    ('?', '?')
    """
    names, pattern = _find_names(tuple((label, *words) for label, words in labels.items()))
    signs = {label: chr(0xE000 + number) for number, label in enumerate(labels)}
    text = " ".join(_MARKS.sub(" ", strip_answer(answer)).split())
    text = pattern.sub(lambda found: signs[names[found[0].casefold()]], text)
    for denied in (_DENIED, _DENIED_AFTER):
        text = denied.sub(" ", text)
    named = [label for label, sign in signs.items() if sign in text]
    return named[0] if len(named) == 1 else UNPARSED


@lru_cache(maxsize=64)
def _find_names(labels: tuple[tuple[str, ...], ...]) -> tuple[dict[str, str], re.Pattern[str]]:
    """Return name in lower case -> its label, and a pattern that finds names, the longest first."""
    names = {name.casefold(): label for label, *words in labels for name in (label, *words)}
    longest_first = sorted(names, key=len, reverse=True)
    return names, re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)
