"""Run controls instead of a recognizer: the ceiling (`gold`) and the floor (`silence`)."""

from collections.abc import Mapping, Sequence
from typing import Any

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.response import Response
from speechiq.engines.base import ASREngine, Setup
from speechiq.engines.options import Options


class Gold(ASREngine):
    """Return the reference text, as a perfect recognizer would; the system's owner sets `references` here alone."""

    def __init__(self, model: str, options: Options, setup: Setup) -> None:
        self.references: Mapping[Clip, str] = {}

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Return the reference text of each clip."""
        if missing := [clip.name for clip in clips if clip not in self.references]:
            raise SpeechIQError(
                "pretrained=gold+...",
                f"{missing[0]} comes without a reference text",
                "run `gold` on tasks whose docs have a `text`",
            )
        return [Response(self.references[clip], coverage=1.0) for clip in clips]

    def describe(self) -> dict[str, Any]:
        """Return the name of the control; see `Engine.describe`."""
        return {"control": "gold"}


class Silence(ASREngine):
    """Return empty transcripts: answers that are then right do not need the speech."""

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Return an empty transcript per clip, with coverage 0."""
        return [Response("", coverage=0.0) for _ in clips]

    def describe(self) -> dict[str, Any]:
        """Return the name of the control; see `Engine.describe`."""
        return {"control": "silence"}
