"""Count which keywords of a checklist an answer contains, by rule."""

from __future__ import annotations

import math
from collections.abc import Sequence

from speechiq.metrics.rules.exact_match import simplify

#: Between two forms of one keyword.
OR = "|"


def count_keywords(answer: str, keywords: Sequence[str]) -> float:
    """Return the share of the keywords that an answer contains as whole words; NaN without keywords.

    Args:
        answer: Any text.
        keywords: Words, or several forms of one joined by `|`: one of them is enough.

    >>> count_keywords("Take the number 21 bus.", ["bus|coach", "twenty one", "ticket"])
    0.6666666666666666
    >>> count_keywords("business", ["bus"])
    0.0
    """
    if not keywords:
        return math.nan
    text = f" {simplify(answer)} "
    found = [any(f" {simplify(form)} " in text for form in keyword.split(OR) if form.strip()) for keyword in keywords]
    return sum(found) / len(found)
