"""Define the response of a system to a clip: a text, and its provenance."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from speechiq.core.clip import Clip
from speechiq.core.files.json_text import replace_halves
from speechiq.core.usage import Latency

#: How a corrector's text became the transcript (`harness_patch/systems/correction.py`).
CORRECTIONS = {
    "clean": "taken as the corrector wrote it",
    "trimmed": "taken after text that is not transcript was cut off",
    "refused": "empty or unlike every text of the n-best list: the recognizer's first text is used",
    "skipped": "the recognizer wrote no text, so the corrector was not called",
}
_NAMES = r"(?:\w+:)?(?:think|thinking|thoughts?|reason|reasoning)"
#: Marks around what a model writes for itself before it answers.
_MARKS = re.compile(
    rf"""(?P<opens>
        <\s*{_NAMES}\s*> | \[think\] | ◁think▷ | <\|begin_of_thought\|> | <unused94>
        | <\|channel\|?>\s*(?:analysis|commentary|thought)\b
        | \A(?-i:analysis(?=[A-Z]))            # a channel of which the special tokens were left out
    ) | (?P<closes>
        <\s*/\s*{_NAMES}\s*> | \[/think\] | ◁/think▷ | <\|end_of_thought\|> | <unused95> | <channel\|>
        | <\|channel\|>\s*final\b(?:<\|message\|>)? | assistantfinal
    ) | (?P<answers> (?=<answer>[^<]{{0,200}}</answer>\s*\Z) )  # what ends reasoning if its own end is missing
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CONTROL = re.compile(r"<\|(?:start\|>assistant|message\|>|end\|>|return\|>|end_of_text\|>)")


@dataclass(frozen=True, slots=True)
class Response:
    """Hold a transcript or an answer, and its provenance.

    Half of a surrogate pair, which UTF-8 cannot encode, becomes U+FFFD in its texts.

    Attributes:
        audio: The spoken answer of a system that generates speech.
        coverage: Seconds of the clip that the system received / seconds of the clip; NaN if unknown.
        hypotheses: The n-best list of a recognizer, best first; empty if it gave one text only.
        provenance: How a corrector's text became the transcript (a key of `CORRECTIONS`); empty without a corrector.
        latency: Its times, if they were asked for; None for what comes from the response cache.
        at_limit: Whether a transcript ended at the limit of its tokens; see `CutText` for answers.

    >>> Response("so it goes on").cut([" on"]).text, Response("so it goes on").cut(" it").text
    ('so it goes', 'so')
    """

    text: str
    audio: Clip | None = None
    coverage: float = math.nan
    hypotheses: tuple[str, ...] = ()
    provenance: str = ""
    latency: Latency | None = None
    at_limit: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", replace_halves(self.text))
        object.__setattr__(self, "hypotheses", tuple(map(replace_halves, self.hypotheses)))

    def cut(self, until: str | Sequence[str] | None) -> Response:
        """Return the response up to the first of the stop sequences, or to the only one."""
        text = self.text
        for stop in filter(None, [until] if isinstance(until, str) else until or ()):
            text = text.partition(stop)[0]
        return replace(self, text=text)


class CarryingText(str):
    """Carry a response in its text: lm-eval, its filters and its logs see a `str`, metrics see the whole response.

    >>> text = CarryingText(Response("so it goes", coverage=0.5))
    >>> text == "so it goes", response_of(reword(text, "so")).coverage
    (True, 0.5)
    """

    response: Response

    def __new__(cls, given: Response | str) -> CarryingText:
        """Return the text of a response; lm-eval also passes a target, to compare equal types."""
        response = Response(given) if isinstance(given, str) else given
        text = super().__new__(cls, response.text)
        text.response = response
        return text


class CutText(str):
    """Mark an answer that ended at the limit of its tokens, not by itself; else it is a text like any other."""


def response_of(text: str) -> Response:
    """Return the response that a text carries; for a text of another model type, one with unknown coverage."""
    return text.response if isinstance(text, CarryingText) else Response(text)


def reword(text: str, words: str) -> str:
    """Return `words`, which carry the response of `text` if it has one."""
    return CarryingText(replace(text.response, text=words)) if isinstance(text, CarryingText) else words


def distinct_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the texts without those that differ from an earlier one only in whitespace.

    >>> distinct_texts(["so it goes", " so it  goes", "so it grows"])
    ('so it goes', 'so it grows')
    """
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(" ".join(text.split()), text)
    return tuple(first.values())


def drop_reasoning(answer: str) -> str:
    """Return the answer without a model's reasoning; an empty text if the reasoning did not end.

    Reasoning is marked by `<think>`, `[THINK]`, `<reasoning>` and similar tags, or by channels. Where only its end is
    marked, it began with the text. An answer without such marks is returned as it is.

    >>> drop_reasoning("<think>A? No.</think>B"), drop_reasoning("<think>A? No")
    ('B', '')
    >>> drop_reasoning("A? No.</think>B")
    'B'
    >>> drop_reasoning("<|channel|>analysis<|message|>A? No.<|end|><|start|>assistant<|channel|>final<|message|>B")
    'B'
    """
    marks = list(_MARKS.finditer(answer))
    if not marks:
        return answer
    kept: list[str] = []
    end, is_reasoning = 0, False
    for mark in marks:
        if not is_reasoning:
            kept.append(answer[end : mark.start()])
            if mark.lastgroup == "closes":
                kept.clear()
        is_reasoning = mark.lastgroup == "opens"
        end = mark.end()
    if not is_reasoning:
        kept.append(answer[end:])
    return _CONTROL.sub("", "".join(kept)).strip()
