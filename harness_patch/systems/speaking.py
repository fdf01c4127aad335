"""Give a system a voice: what it writes as a reply is spoken by a text-to-speech engine (`speaks=ENGINE:MODEL`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt, Scored
from speechiq.core.response import Response
from speechiq.harness_patch.systems.answering import Answering
from speechiq.harness_patch.systems.system import Question, SpeechSystem

#: Model argument that names the voice, and the prefix of its options.
SPEAKS, SPEAKS_PREFIX = "speaks", "speaks_"
#: Value of `speaks` that names a voice of the system's own.
OWN = "own"
#: `Question.purpose` of what is answered aloud.
REPLY = "reply"


class Voice(Protocol):
    """Define a voice as a system uses it: a `SpeechEngine`, cached."""

    def speak(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Clip]:
        """Speak each text; see `SpeechEngine.speak`."""

    def describe(self) -> dict[str, Any]:
        """Describe the voice; see `Engine.describe`."""


class Speaking:
    """Run a system whose replies are spoken after all of them are written: one model is in memory at a time.

    Args:
        system: The system that writes.
        voice: The voice.
        seed: Seed of the speech.
    """

    def __init__(self, system: SpeechSystem, voice: Voice, seed: int) -> None:
        self.system, self.voice, self.seed = system, voice, seed

    @property
    def answering(self) -> Answering | None:
        """Return the way of answering questions; see `SpeechSystem.answering`."""
        return self.system.answering

    def at_work(self) -> AbstractContextManager[None]:
        """Keep models loaded inside the block; see `SpeechSystem.at_work`."""
        return self.system.at_work()

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Transcribe the clip of each prompt; see `SpeechSystem.transcribe`."""
        return self.system.transcribe(prompts)

    def check(self, questions: Sequence[Question], n: int) -> None:
        """Refuse questions that cannot be answered; see `SpeechSystem.check`."""
        self.system.check(questions, n)

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Answer each question `n` times, and speak the answers to those that ask for a reply."""
        answers = self.system.answer(questions, n)
        aloud = [(i, k) for i, question in enumerate(questions) if question.purpose == REPLY for k in range(n)]
        texts = [answers[i][k].text for i, k in aloud]
        seeds = [questions[i].seeds(self.seed, n)[k] for i, k in aloud]
        for (i, k), clip in zip(aloud, self.voice.speak(texts, seeds) if aloud else (), strict=True):
            answers[i][k] = replace(answers[i][k], audio=clip)
        return answers

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[Scored]:
        """Score each continuation after its prompt; see `SpeechSystem.loglikelihood`."""
        return self.system.loglikelihood(prompts, continuations)

    def describe(self) -> dict[str, Any]:
        """Describe the system and its voice; see `SpeechSystem.describe`."""
        return self.system.describe() | {"speaks": self.voice.describe()}
