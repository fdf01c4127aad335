"""Give a system a voice for its replies: an engine that speaks what it wrote, or a voice of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Protocol

from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt, Scored
from speechiq.core.response import Response
from speechiq.harness_patch.systems.answering import Answering, answer_by_settings
from speechiq.harness_patch.systems.system import Question, SpeechSystem

#: `Question.purpose` of what is answered aloud.
REPLY = "reply"


class Voice(Protocol):
    """Define a voice as a system uses it: a `SpeechEngine`, cached."""

    def speak(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Clip]:
        """Speak each text; see `SpeechEngine.speak`."""

    def describe(self) -> dict[str, Any]:
        """Describe the voice; see `Engine.describe`."""


class OwnVoice(Protocol):
    """Define an audio model that answers aloud as a system uses it: a `ReplyEngine`, cached."""

    def reply(
        self, prompts: Sequence[Prompt], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[Response]]:
        """Answer each prompt aloud, once per seed; see `ReplyEngine.reply`."""

    def describe(self) -> dict[str, Any]:
        """Describe the model and its voice; see `Engine.describe`."""


class Speaking(ABC):
    """Run a system that answers aloud what asks for a reply, and all other questions as before.

    One model is in memory at a time: that of the system is freed before a voice is loaded.

    Args:
        system: The system that transcribes and writes.
        voice: What speaks.
        seed: Seed of the speech.
    """

    def __init__(self, system: SpeechSystem, voice: Any, seed: int) -> None:
        self.system, self.voice, self.seed = system, voice, seed

    @property
    def answering(self) -> Answering | None:
        """Return the way of answering questions; see `SpeechSystem.answering`."""
        return self.system.answering

    def at_work(self) -> AbstractContextManager[None]:
        """Return a block that keeps no model loaded, since the next one may be the voice."""
        return nullcontext()

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Transcribe the clip of each prompt; see `SpeechSystem.transcribe`."""
        return self.system.transcribe(prompts)

    def check(self, questions: Sequence[Question], n: int) -> None:
        """Refuse questions that cannot be answered; see `SpeechSystem.check`."""
        self.system.check(questions, n)

    @abstractmethod
    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Answer each question `n` times, those that ask for a reply aloud; see `SpeechSystem.answer`."""

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[Scored]:
        """Score each continuation after its prompt; see `SpeechSystem.loglikelihood`."""
        return self.system.loglikelihood(prompts, continuations)

    def describe(self) -> dict[str, Any]:
        """Describe the system and its voice; see `SpeechSystem.describe`."""
        return self.system.describe() | {"speaks": self.voice.describe()}


class WithVoice(Speaking):
    """Speak by an engine what the system wrote, after all of it is written (`speaks=ENGINE:MODEL`)."""

    voice: Voice

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Answer each question `n` times, and speak the answers to those that ask for a reply."""
        answers = self.system.answer(questions, n)
        aloud = [(i, k) for i, question in enumerate(questions) if question.purpose == REPLY for k in range(n)]
        texts = [answers[i][k].text for i, k in aloud]
        seeds = [questions[i].seeds(self.seed, n)[k] for i, k in aloud]
        for (i, k), clip in zip(aloud, self.voice.speak(texts, seeds) if aloud else (), strict=True):
            answers[i][k] = replace(answers[i][k], audio=clip)
        return answers


class WithOwnVoice(Speaking):
    """Let a model write and speak its replies at once (`speaks=own`)."""

    voice: OwnVoice

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Answer each question `n` times: replies by the model's own voice, all others by the system."""
        aloud = [question for question in questions if question.purpose == REPLY]
        others = [question for question in questions if question.purpose != REPLY]
        answers = iter(self.system.answer(others, n) if others else [])
        replies = iter(answer_by_settings(self.voice.reply, aloud, n, self.seed))
        return [next(replies if question.purpose == REPLY else answers) for question in questions]
