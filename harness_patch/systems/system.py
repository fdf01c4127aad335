"""What every speech system does, whatever it is made of: two verbs, batch in, batch out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt, Scored, TextPrompt
from speechiq.core.response import Response

if TYPE_CHECKING:
    from speechiq.harness_patch.systems.answering import Answering


@dataclass(frozen=True, slots=True)
class Question:
    """Something to be answered about clips.

    Attributes:
        prompt: the task's words and clips.
        settings: the task's generation settings (`do_sample`, `max_gen_toks`, `until`, ...).
        text: the question alone, for tasks that say so; else empty.
        options: the texts to choose from, for multiple choice.
    """

    prompt: Prompt
    settings: Mapping[str, Any]
    text: str = ""
    options: tuple[str, ...] = ()

    def seeds(self, seed: int, n: int) -> list[int]:
        """Return a seed per answer, by what is asked of which audio; never by the batch or the process."""
        text, *clips = self.prompt.key
        asked = seed, *clips, text
        return [int.from_bytes(hashlib.sha256(repr((*asked, i)).encode()).digest()[:8]) for i in range(n)]


class Recognizer(Protocol):
    """An `ASREngine` as a system uses it, behind the response cache or not, or one with a corrector."""

    def transcribe(self, clips: Sequence[Clip]) -> list[Response]:
        """See `ASREngine.transcribe`."""

    def describe(self) -> dict[str, Any]:
        """See `Engine.describe`."""


class LanguageModel(Protocol):
    """A `TextEngine` as a system uses it, behind the response cache or not."""

    def at_work(self) -> AbstractContextManager[None]:
        """See `TextEngine.at_work`."""

    def count(self, text: str) -> int:
        """See `TextEngine.count`."""

    def generate(
        self, prompts: Sequence[TextPrompt], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[str]]:
        """See `TextEngine.generate`."""

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """See `TextEngine.sampling`."""

    def loglikelihood(
        self, prompts: Sequence[TextPrompt], continuations: Sequence[Sequence[str]]
    ) -> list[list[Scored]]:
        """See `TextEngine.loglikelihood`."""

    def describe(self) -> dict[str, Any]:
        """See `Engine.describe`."""


class AudioModel(Protocol):
    """A model, or several, that take prompts with clips in them; an `AudioEngine` is one."""

    def at_work(self) -> AbstractContextManager[None]:
        """Inside, what is loaded may stay loaded from call to call; afterwards nothing is."""

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Return what was said in the one clip of each prompt; its words ask for that."""

    def coverage(self, prompts: Sequence[Prompt]) -> list[float]:
        """Of each prompt's clips, the share of seconds that the model is fed."""

    def generate(
        self, prompts: Sequence[Prompt], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[str]]:
        """Answers to each prompt, one a seed."""

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """How `generate` samples by these settings; refuses those that it does not know."""

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[Sequence[str]]) -> list[list[Scored]]:
        """Return the log-likelihood of each continuation after its prompt; the model adds its own chat template."""

    def describe(self) -> dict[str, Any]:
        """What ran and how, for the results file: JSON types only."""


class SpeechSystem(Protocol):
    """A system under test."""

    @property
    def answering(self) -> Answering | None:
        """Return the way in which it answers questions; None for a control that does not read them."""

    def at_work(self) -> AbstractContextManager[None]:
        """As for a `AudioModel`."""

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Return what was said in the one clip of each prompt; its words ask for that."""

    def check(self, questions: Sequence[Question], n: int) -> None:
        """Refuse questions that cannot be answered `n` times as they are asked, before anything is computed."""

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """`n` independent answers to each question."""

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[Scored]:
        """How likely each continuation is after its prompt."""

    def describe(self) -> dict[str, Any]:
        """What ran and how, for the results file: JSON types only."""
