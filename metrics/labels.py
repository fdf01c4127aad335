"""Read the label that an answer gives, of a closed set such as emotions, by rule.

A label is named by its own name and by the words that its task lists for it. A word counts if it is a whole word of the
answer and no denial precedes it. An answer that names none of the labels, or several, is unparsed (`?`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from speechiq.metrics.answer_text import strip_answer
from speechiq.metrics.option_letters import UNPARSED

__all__ = ["UNPARSED", "parse_label"]

_DENIED = re.compile(
    r"(?:\b(?:not|never|no|neither|nor|without|rather than|instead of)|n't)(?:\s+\w+){0,2}\W*$", re.IGNORECASE
)
#: Characters before a mention in which a denial counts.
_WINDOW = 40


def parse_label(answer: str, labels: Mapping[str, Sequence[str]]) -> str:
    """Return the only label that an answer names, or `?`.

    Args:
        answer: The system's answer; reasoning up to `</think>` is left out.
        labels: Label -> further words that name it.

    >>> labels = {"joy": ["happy", "joyful"], "anger": ["angry"], "neutral": []}
    >>> parse_label("She sounds **happy**, not angry.", labels), parse_label("Joy or anger.", labels)
    ('joy', '?')
    >>> parse_label("Unhappy!", labels), parse_label("", labels)
    ('?', '?')
    """
    names, pattern = _find_names(tuple((label, *words) for label, words in labels.items()))
    text = " ".join(strip_answer(answer).split())
    named = {
        names[found[0].casefold()]
        for found in pattern.finditer(text)
        if not _DENIED.search(text[max(0, found.start() - _WINDOW) : found.start()].rpartition(".")[2])
    }
    return named.pop() if len(named) == 1 else UNPARSED


@lru_cache(maxsize=64)
def _find_names(labels: tuple[tuple[str, ...], ...]) -> tuple[dict[str, str], re.Pattern[str]]:
    """Return name in lower case -> its label, and a pattern that finds names, the longest first."""
    names = {name.casefold(): label for label, *words in labels for name in (label, *words)}
    longest_first = sorted(names, key=len, reverse=True)
    return names, re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)
