"""Make a speech system of an audio model and its way of answering."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from speechiq.core.prompt import Prompt, Scored
from speechiq.core.response import Response
from speechiq.harness_patch.systems.answering import Answering
from speechiq.harness_patch.systems.system import AudioModel, Question


class AudioModelSystem:
    """Run an audio model as a speech system.

    Args:
        audio_model: A cascade, an audio language model, or an endpoint.
        answering: The way of answering questions.
        seed: Seed of the sampled answers.
    """

    def __init__(self, audio_model: AudioModel, answering: Answering, seed: int) -> None:
        self.audio_model, self.answering, self.seed = audio_model, answering, seed

    def at_work(self) -> AbstractContextManager[None]:
        """Keep models loaded inside the block; see `SpeechSystem.at_work`."""
        return self.audio_model.at_work()

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Transcribe the clip of each prompt; see `SpeechSystem.transcribe`."""
        return self.audio_model.transcribe(prompts)

    def check(self, questions: Sequence[Question], n: int) -> None:
        """Refuse questions that cannot be answered; see `SpeechSystem.check`."""
        self.answering.check(self.audio_model, questions, n)

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Answer each question `n` times; see `SpeechSystem.answer`."""
        with self.audio_model.at_work():
            answers = self.answering.answer(self.audio_model, questions, n, self.seed)
            shares = self.audio_model.coverage([question.prompt for question in questions])
        return [[Response(text, coverage=share) for text in row] for row, share in zip(answers, shares, strict=True)]

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[Scored]:
        """Score each continuation after its prompt; see `SpeechSystem.loglikelihood`."""
        groups = self.audio_model.loglikelihood(prompts, [[text] for text in continuations])
        return [scored for (scored,) in groups]

    def describe(self) -> dict[str, Any]:
        """Describe the audio model and its way of answering; see `SpeechSystem.describe`."""
        return self.audio_model.describe() | {"answering": dict(self.answering.describe())}
