"""An audio model in the place of a recogniser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt
from speechiq.core.response import Response
from speechiq.siq_tasks.audio import transcription_prompt


@runtime_checkable
class TakesPrompts(Protocol):
    """An engine that is asked for a transcript by a prompt with the clip in it.

    Attributes:
        asks_in_words: Whether a transcript depends on the words of the prompt.
    """

    asks_in_words: bool

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Return what was said in the one clip of each prompt."""

    def describe(self) -> dict[str, Any]:
        """Return what ran and how, JSON types only."""


class Instructed:
    """A recogniser that asks an audio model by the words of the level Remember, whatever the system itself is asked."""

    def __init__(self, engine: TakesPrompts) -> None:
        self.engine = engine

    def transcribe(self, clips: Sequence[Clip]) -> list[Response]:
        return self.engine.transcribe([Prompt.about(transcription_prompt(), [clip]) for clip in clips])

    def describe(self) -> dict[str, Any]:
        return self.engine.describe()
