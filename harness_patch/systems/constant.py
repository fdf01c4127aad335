"""A control that is a whole system: it hears nothing and gives the same letter to every question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.systems.system import LETTERS, Question, Transcript
from speechiq.siq_tasks.audio import AudioClip


class ConstantLetter:
    """What a letter scores that is always the same: where it is far from chance, the questions are not balanced.

    Args:
        letter: the answer, one of A to E.

    Raises:
        SpeechIQError: another answer.
    """

    def __init__(self, letter: str) -> None:
        if letter not in tuple(LETTERS[:5]):
            raise SpeechIQError(f"pretrained=letter:{letter}: not one of the letters A to E; write letter:B")
        self.letter = letter

    def transcribe(self, clips: Sequence[AudioClip]) -> list[Transcript]:
        return [Transcript("") for _ in clips]

    def answer(self, questions: Sequence[Question], n: int) -> list[list[str]]:
        return [[self.letter] * n for _ in questions]

    def loglikelihood(self, clips, contexts, continuations):
        raise SpeechIQError(f"pretrained=letter:{self.letter}: weighs no texts; run it on tasks that generate")

    def describe(self) -> dict[str, Any]:
        return {"kind": "control", "control": f"letter:{self.letter}"}
