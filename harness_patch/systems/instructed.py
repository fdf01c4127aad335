"""An audio model in the place of a recognizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt
from speechiq.core.response import Response
from speechiq.siq_tasks.audio import transcription_prompt


class TakesPrompts(Protocol):
    """An `AudioEngine` as the ASR stage uses it, behind the response cache or not."""

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """See `AudioEngine.transcribe`."""

    def describe(self) -> dict[str, Any]:
        """See `Engine.describe`."""


class Instructed:
    """A recognizer that asks an audio model by the words of the level Remember, whatever the system itself is asked."""

    def __init__(self, engine: TakesPrompts) -> None:
        self.engine = engine

    def transcribe(self, clips: Sequence[Clip]) -> list[Response]:
        return self.engine.transcribe([Prompt.about(transcription_prompt(), [clip]) for clip in clips])

    def describe(self) -> dict[str, Any]:
        return self.engine.describe()
