"""A control that is a whole system: it hears nothing and gives the same letter to every question."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, Scored
from speechiq.core.response import Response
from speechiq.harness_patch.systems.system import Question
from speechiq.metrics.option_letters import LETTERS


class ConstantLetter:
    """What a letter scores that is always the same: where it is far from chance, the questions are not balanced.

    Args:
        letter: the answer, one of A to E.

    Raises:
        SpeechIQError: another answer.
    """

    answering = None

    def __init__(self, letter: str) -> None:
        if letter not in tuple(LETTERS):
            raise SpeechIQError(f"pretrained=letter:{letter}: not one of the letters A to E; write letter:B")
        self.letter = letter

    def at_work(self) -> AbstractContextManager[None]:
        return nullcontext()

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        return [Response("", coverage=0.0) for _ in prompts]

    def check(self, questions: Sequence[Question], n: int) -> None:
        """Any question will do."""

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        return [[Response(self.letter, coverage=0.0)] * n for _ in questions]

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[Scored]:
        raise SpeechIQError(f"pretrained=letter:{self.letter}: weighs no texts; run it on tasks that generate")

    def describe(self) -> dict[str, Any]:
        return {"kind": "control", "control": f"letter:{self.letter}"}
