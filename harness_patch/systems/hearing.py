"""The system that hears: a hearer and its way of answering."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from speechiq.core.prompt import Prompt, Scored
from speechiq.core.response import Response
from speechiq.harness_patch.systems.answering import Answering
from speechiq.harness_patch.systems.system import Hearer, Question


class HearingSystem:
    """Any hearer as a speech system.

    Args:
        hearer: a cascade, an audio language model, an endpoint.
        answering: how it answers questions.
        seed: of the sampled answers.
    """

    def __init__(self, hearer: Hearer, answering: Answering, seed: int) -> None:
        self.hearer, self.answering, self.seed = hearer, answering, seed

    def at_work(self) -> AbstractContextManager[None]:
        return self.hearer.at_work()

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        return self.hearer.transcribe(prompts)

    def check(self, questions: Sequence[Question], n: int) -> None:
        self.answering.check(self.hearer, questions, n)

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        with self.hearer.at_work():
            answers = self.answering.answer(self.hearer, questions, n, self.seed)
            shares = self.hearer.heard([question.prompt for question in questions])
        return [[Response(text, coverage=share) for text in row] for row, share in zip(answers, shares, strict=True)]

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[Scored]:
        groups = self.hearer.loglikelihood(prompts, [[text] for text in continuations])
        return [scored for (scored,) in groups]

    def describe(self) -> dict[str, Any]:
        return self.hearer.describe() | {"answering": dict(self.answering.describe())}
