"""Use an audio model as a recognizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt
from speechiq.core.response import Response
from speechiq.harness_patch.systems.system import AudioModel
from speechiq.siq_tasks.loaders.audio import transcription_prompt


class Instructed:
    """Transcribe with an audio model, always with the prompt of the level Remember: a clip has one transcript."""

    def __init__(self, engine: AudioModel) -> None:
        self.engine = engine

    def transcribe(self, clips: Sequence[Clip]) -> list[Response]:
        """Transcribe each clip; see `ASREngine.transcribe`."""
        return self.engine.transcribe([Prompt.about(transcription_prompt(), [clip]) for clip in clips])

    def describe(self) -> dict[str, Any]:
        """Describe the audio model; see `Engine.describe`."""
        return self.engine.describe()
