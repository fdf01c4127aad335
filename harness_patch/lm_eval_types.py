"""The one subclass of `str` that lm-eval gets from a speech system."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from speechiq.core.response import Response


class CarryingText(str):
    """The text of a response: to lm-eval, its filters and its logs a `str`, to metrics the whole response.

    >>> text = CarryingText(Response("so it goes", coverage=0.5))
    >>> text == "so it goes", text.with_text("so").response.coverage
    (True, 0.5)
    """

    response: Response

    def __new__(cls, given: Response | str) -> CarryingText:
        """Return the text of a response; lm-eval also makes one of a target, to compare like with like."""
        response = Response(given) if isinstance(given, str) else given
        text = super().__new__(cls, response.text)
        text.response = response
        return text

    def with_text(self, text: str) -> CarryingText:
        """Return another text that carries a response which came about the same way."""
        return CarryingText(replace(self.response, text=text))

    def __reduce__(self) -> tuple[Any, ...]:
        return CarryingText, (self.response,)
