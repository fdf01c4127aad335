"""Make the page on which a person compares the answers to transcripts with those to the references."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from speechiq.reducer.report.cards import Card, Choice, Part, render
from speechiq.reducer.studies.validity.exchanges import Exchange

TITLE = "Which answer is better?"
INTRO = (
    "Two answers to one question. Are they equal in quality and completeness? Their order is random. If neither is "
    "useful, the item is left out."
)
CHOICES = (
    Choice("1", "first", "the first is better"),
    Choice("2", "second", "the second is better"),
    Choice("3", "equal", "equal"),
    Choice("4", "neither", "neither is useful"),
)
FILE = "labels.jsonl"


def render_review(exchanges: Sequence[Exchange]) -> str:
    """Return the page. Cards do not show which answer is to the transcript; equal answers are successes by rule.

    Args:
        exchanges: The answers.

    Raises:
        SpeechIQError: All answers are equal.
    """
    cards = sorted((_card(of) for of in exchanges if not of.same), key=lambda card: _digest(card.name))
    always = [_row(of, success=True) for of in exchanges if of.same]
    return render(TITLE, INTRO, CHOICES, cards, file=FILE, always=always)


def _card(of: Exchange) -> Card:
    name = json.dumps(of.key)
    both = [of.from_reference, of.from_transcript]
    first, second = both if _digest(name)[0] < "8" else both[::-1]
    asked = Part("Question", of.question)
    passage = (Part("Reference of the clip", of.reference, folded=True),) * (of.reference != of.question)
    right = (Part("Right answer", of.right),) * bool(of.right)
    parts = (asked, *passage, *right, Part("First answer", first), Part("Second answer", second))
    failure = _row(of, success=False)
    return Card(name, parts, {"equal": _row(of, success=True), "first": failure, "second": failure})


def _row(of: Exchange, *, success: bool) -> dict[str, str | bool]:
    system, (clip, *question) = of.key
    row: dict[str, str | bool] = {"id": clip, "system": system, "success": success}
    return row | ({"question_id": question[0]} if question else {})


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
