"""An audio model in the place of a recognizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt
from speechiq.core.response import Response
from speechiq.harness_patch.systems.system import AudioModel
from speechiq.siq_tasks.audio import transcription_prompt


class Instructed:
    """A recognizer that asks an audio model by the words of the level Remember, whatever the system itself is asked."""

    def __init__(self, engine: AudioModel) -> None:
        self.engine = engine

    def transcribe(self, clips: Sequence[Clip]) -> list[Response]:
        return self.engine.transcribe([Prompt.about(transcription_prompt(), [clip]) for clip in clips])

    def describe(self) -> dict[str, Any]:
        return self.engine.describe()
