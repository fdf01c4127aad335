"""Define the control `letter:X`, a system without stages that ignores the audio and always answers one letter."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, Scored
from speechiq.core.response import Response
from speechiq.harness_patch.systems.system import Question
from speechiq.metrics.letters.options import ALPHABET


class ConstantLetter:
    """Answer every question with the same letter; a score far from chance shows that the questions are not balanced.

    Args:
        letter: Answer, one of A to Z.

    Raises:
        SpeechIQError: The letter is not one of them.
    """

    answering = None

    def __init__(self, letter: str) -> None:
        if letter not in tuple(ALPHABET):
            raise SpeechIQError(
                f"pretrained=letter:{letter}: not one of the letters A to Z; write, for example, letter:B"
            )
        self.letter = letter

    def at_work(self) -> AbstractContextManager[None]:
        """Return an empty block; see `SpeechSystem.at_work`."""
        return nullcontext()

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Return empty transcripts; see `SpeechSystem.transcribe`."""
        return [Response("", coverage=0.0) for _ in prompts]

    def check(self, questions: Sequence[Question], n: int) -> None:
        """Accept any question; see `SpeechSystem.check`."""

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Return the letter `n` times per question; see `SpeechSystem.answer`."""
        return [[Response(self.letter, coverage=0.0)] * n for _ in questions]

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[Scored]:
        """Refuse tasks with log-likelihoods.

        Raises:
            SpeechIQError: Always.
        """
        raise SpeechIQError(f"pretrained=letter:{self.letter}: has no log-likelihoods; run it on tasks that generate")

    def describe(self) -> dict[str, Any]:
        """Describe the control; see `SpeechSystem.describe`."""
        return {"kind": "control", "control": f"letter:{self.letter}"}
