"""Define what a speech system makes of a clip: a text, and how it came about."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from speechiq.core.clip import Clip

#: How a corrector's text became the transcript (`harness_patch/systems/correction.py`).
CORRECTIONS = {
    "clean": "taken as the corrector wrote it",
    "trimmed": "taken after what is no transcript was cut off",
    "refused": "empty or unlike all that the recognizer held possible: the recognizer's first text stands",
    "skipped": "the recognizer heard nothing, so the corrector was not asked",
}
_HALF = re.compile("[\ud800-\udfff]")
_THINKING = re.compile(r"^.*</think(?:ing)?>|^\s*<think(?:ing)?>.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Response:
    """A transcript or an answer, and how it came about.

    In its texts half of a surrogate pair, which no file in UTF-8 can hold, becomes U+FFFD.

    Attributes:
        text: What was written.
        audio: What was said, by a system that speaks.
        coverage: Seconds of the clip that the system was fed / seconds of the clip; NaN if unknown.
        hypotheses: What a recognizer held possible, best first; empty if it gave one text only.
        provenance: How a corrector's text came about (a key of `CORRECTIONS`); empty without a corrector.

    >>> Response("so it goes on").cut([" on"]).text, Response("so it goes on").cut(" it").text
    ('so it goes', 'so')
    """

    text: str
    audio: Clip | None = None
    coverage: float = math.nan
    hypotheses: tuple[str, ...] = ()
    provenance: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", whole(self.text))
        object.__setattr__(self, "hypotheses", tuple(map(whole, self.hypotheses)))

    def cut(self, until: str | Sequence[str] | None) -> Response:
        """Return the response up to the first of the stop sequences, or to the only one."""
        text = self.text
        for stop in filter(None, [until] if isinstance(until, str) else until or ()):
            text = text.partition(stop)[0]
        return replace(self, text=text)


@runtime_checkable
class ResponseText(Protocol):
    """A text that the harness takes from a model, and that carries the response which it is the text of."""

    response: Response

    def with_text(self, text: str) -> str:
        """Return another text that carries a response which came about the same way."""


def response_of(text: str) -> Response:
    """Return the response that a text carries; of another model type's text, a response of which nothing is known."""
    return text.response if isinstance(text, ResponseText) else Response(text)


def reword(text: str, words: str) -> str:
    """Return `words`, carrying the response that `text` carries, if it carries one."""
    return text.with_text(words) if isinstance(text, ResponseText) else words


def whole(text: str) -> str:
    """Return the text with U+FFFD in the place of half surrogate pairs, which no file in UTF-8 can hold.

    >>> whole("caf\\ud83d") == "caf\N{REPLACEMENT CHARACTER}"
    True
    """
    return _HALF.sub("\N{REPLACEMENT CHARACTER}", text)


def drop_reasoning(answer: str) -> str:
    """What a reasoning model says after it has thought; nothing where it did not come to an end.

    >>> drop_reasoning("<think>A? No.</think>B"), drop_reasoning("<think>A? No")
    ('B', '')
    """
    return _THINKING.sub("", answer)
