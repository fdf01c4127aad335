"""What a speech system says of a clip: a text that knows how it came about."""

from __future__ import annotations

import math
import re

#: How a corrector's text became the transcript (`harness_patch/systems/correction.py`).
CORRECTIONS = {
    "clean": "taken as the corrector wrote it",
    "trimmed": "taken after what is no transcript was cut off",
    "refused": "empty or unlike all that the recogniser held possible: the recogniser's first text stands",
    "skipped": "the recogniser heard nothing, so the corrector was not asked",
}
_HALF = re.compile("[\ud800-\udfff]")
_THINKING = re.compile(r"^.*</think(?:ing)?>|^\s*<think(?:ing)?>.*", re.DOTALL)


class Response(str):
    """A transcript or an answer; to lm-eval, its filters and its logs it is the text.

    Half of a surrogate pair, which no file in UTF-8 can hold, becomes U+FFFD.

    Attributes:
        heard: seconds of the clip that the system was fed / seconds in the clip; NaN where nobody knows.
        hypotheses: what a recogniser held possible, best first; empty where it gave one text only.
        correction: how a corrector's text came about (a key of `CORRECTIONS`); empty without a corrector.

    >>> Response("so it goes on", heard=1.0).cut([" on"]), Response("so it goes on").cut(" it")
    ('so it goes', 'so')
    """

    heard: float
    hypotheses: tuple[str, ...]
    correction: str

    def __new__(cls, text: str, *, heard: float = math.nan, hypotheses: tuple[str, ...] = (), correction: str = ""):
        response = super().__new__(cls, whole(text))
        response.heard, response.hypotheses, response.correction = heard, tuple(map(whole, hypotheses)), correction
        return response

    @classmethod
    def of(cls, text: str) -> Response:
        """`text` itself where it is a response; else, from another model type, one of which nothing is known."""
        return text if isinstance(text, cls) else cls(text)

    def saying(self, text: str) -> Response:
        """Another text that came about the same way."""
        return type(self)(text, **vars(self))

    def cut(self, until) -> Response:
        """The text before the first of the stop sequences, or before the only one."""
        text = str(self)
        for stop in filter(None, [until] if isinstance(until, str) else until or ()):
            text = text.partition(stop)[0]
        return self.saying(text)


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
