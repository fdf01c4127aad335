"""Define the one subclass of `str` that lm-eval gets from a speech system."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from speechiq.core.response import Response


class CarryingText(str):
    """Carry a response in its text: lm-eval, its filters and its logs see a `str`, metrics see the whole response.

    >>> text = CarryingText(Response("so it goes", coverage=0.5))
    >>> text == "so it goes", text.with_text("so").response.coverage
    (True, 0.5)
    """

    response: Response

    def __new__(cls, given: Response | str) -> CarryingText:
        """Return the text of a response; lm-eval also passes a target, to compare equal types."""
        response = Response(given) if isinstance(given, str) else given
        text = super().__new__(cls, response.text)
        text.response = response
        return text

    def with_text(self, text: str) -> CarryingText:
        """Return another text with the same response in other respects."""
        return CarryingText(replace(self.response, text=text))

    def __reduce__(self) -> tuple[Any, ...]:
        return CarryingText, (self.response,)
