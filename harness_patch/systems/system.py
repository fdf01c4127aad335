"""Define the protocols of a speech system and its parts: they transcribe and answer, one result per input."""

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
    """Describe a question about clips.

    Attributes:
        prompt: The task's text and clips.
        settings: The task's generation settings (`do_sample`, `max_gen_toks`, `until`, ...).
        text: The question alone, if the task gives it; else empty.
        options: Texts to choose from, for multiple choice.
        purpose: `reply` for a question that is answered aloud, else `answer` or empty.
    """

    prompt: Prompt
    settings: Mapping[str, Any]
    text: str = ""
    options: tuple[str, ...] = ()
    purpose: str = ""

    def seeds(self, seed: int, n: int) -> list[int]:
        """Return one seed per answer, which depends on prompt and audio, never on the batch or the process."""
        text, *clips = self.prompt.key
        key = seed, *clips, text
        return [int.from_bytes(hashlib.sha256(repr((*key, i)).encode()).digest()[:8]) for i in range(n)]


class Recognizer(Protocol):
    """Define a recognizer as a system uses it: an `ASREngine`, cached or not, or one with a corrector."""

    def transcribe(self, clips: Sequence[Clip]) -> list[Response]:
        """Transcribe each clip; see `ASREngine.transcribe`."""

    def describe(self) -> dict[str, Any]:
        """Describe what ran and how; see `Engine.describe`."""


class LanguageModel(Protocol):
    """Define a language model as a system uses it: a `TextEngine`, cached or not."""

    def at_work(self) -> AbstractContextManager[None]:
        """Keep the model loaded inside the block; see `TextEngine.at_work`."""

    def count(self, text: str) -> int:
        """Count the tokens of a text; see `TextEngine.count`."""

    def generate(
        self, prompts: Sequence[TextPrompt], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[str]]:
        """Answer each prompt once per seed; see `TextEngine.generate`."""

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Describe how `generate` samples; see `TextEngine.sampling`."""

    def loglikelihood(
        self, prompts: Sequence[TextPrompt], continuations: Sequence[Sequence[str]]
    ) -> list[list[Scored]]:
        """Score continuations after each prompt; see `TextEngine.loglikelihood`."""

    def describe(self) -> dict[str, Any]:
        """Describe what ran and how; see `Engine.describe`."""


class AudioModel(Protocol):
    """Define an audio model, which takes prompts with clips: an `AudioEngine`, or several engines together."""

    def at_work(self) -> AbstractContextManager[None]:
        """Return a block inside which models may stay loaded between calls; after it no model is loaded."""

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Return a transcript of the one clip of each prompt, whose text asks for it."""

    def coverage(self, prompts: Sequence[Prompt]) -> list[float]:
        """Return the audio coverage of each prompt: seconds that the model receives / seconds of its clips."""

    def generate(
        self, prompts: Sequence[Prompt], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[str]]:
        """Return the answers to each prompt, one per seed."""

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Describe how `generate` samples with these settings, and refuse unknown settings."""

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[Sequence[str]]) -> list[list[Scored]]:
        """Return the log-likelihood of each continuation after its prompt; the model adds its own chat template."""

    def describe(self) -> dict[str, Any]:
        """Describe what ran and how for the results file, in JSON types only."""


class SpeechSystem(Protocol):
    """Define a system under test."""

    @property
    def answering(self) -> Answering | None:
        """Return the way of answering questions; None for a control that does not read them."""

    def at_work(self) -> AbstractContextManager[None]:
        """Return a block inside which models may stay loaded; see `AudioModel.at_work`."""

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Return a transcript of the one clip of each prompt, whose text asks for it."""

    def check(self, questions: Sequence[Question], n: int) -> None:
        """Refuse questions that cannot be answered `n` times, before anything is computed."""

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Return `n` independent answers to each question."""

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[Scored]:
        """Return the log-likelihood of each continuation after its prompt."""

    def describe(self) -> dict[str, Any]:
        """Describe what ran and how for the results file, in JSON types only."""
