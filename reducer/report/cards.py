"""Write a page on which a person judges one card at a time, offline, and saves a file of what was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import content_sha256
from speechiq.reducer.report import page

SCRIPTS = ("base", "theme", "downloads", "cards")


class Part(msgspec.Struct, frozen=True):
    """A text of a card.

    Attributes:
        heading: Its heading.
        text: The text.
        folded: Whether it is shown on request only.
    """

    heading: str
    text: str
    folded: bool = False


class Choice(msgspec.Struct, frozen=True):
    """A way to judge a card.

    Attributes:
        key: The key of the keyboard that chooses it.
        name: Its name in `Card.rows`.
        text: Its words on the page.
    """

    key: str
    name: str
    text: str


class Card(msgspec.Struct, frozen=True):
    """What is judged.

    Attributes:
        name: Its name, which is not shown; what was chosen is kept by it.
        parts: Its texts.
        rows: Name of a choice -> the row of the saved file; a choice without a row leaves the card out.
    """

    name: str
    parts: tuple[Part, ...]
    rows: Mapping[str, Mapping[str, Any]]


def render(
    title: str,
    intro: str,
    choices: Sequence[Choice],
    cards: Sequence[Card],
    *,
    file: str,
    always: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return the page.

    Args:
        title: Its title.
        intro: What the person shall do.
        choices: The ways to judge a card.
        cards: The cards, in the order in which they are shown.
        file: Name of the file that is saved: JSON lines, each with the name of the person under `by`.
        always: Rows that are saved in addition.

    Raises:
        SpeechIQError: Cards are missing.
    """
    if not cards:
        raise SpeechIQError("there is nothing to review: every item is decided by rule")
    plain = msgspec.to_builtins(list(cards))
    data = {
        "choices": msgspec.to_builtins(list(choices)),
        "cards": plain,
        "always": list(always),
        "file": file,
        "key": content_sha256(plain)[:16],
    }
    return page.render("cards.html.j2", SCRIPTS, plots=False, title=title, intro=intro, data=data, count=len(cards))
