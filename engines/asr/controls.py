"""Controls in the place of a recogniser: the ceiling (`gold`) and the floor (`silence`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from speechiq.core.batches import Keep, drop
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.response import Response
from speechiq.engines.base import ASREngine


class Gold(ASREngine):
    """Hears the reference text: what a perfect recogniser would give."""

    def transcribe(self, clips: Sequence[Clip], keep: Keep = drop) -> list[Response]:
        if silent := [clip.name for clip in clips if clip.get("reference") is None]:
            raise SpeechIQError(
                f"pretrained=gold+...: {silent[0]} comes without a reference text; run `gold` on "
                f"tasks whose docs hold `text`"
            )
        return [Response(clip["reference"], heard=1.0) for clip in clips]

    def describe(self) -> dict[str, Any]:
        return {"control": "gold"}


class Silence(ASREngine):
    """Hears nothing: what is right all the same is known without listening."""

    def transcribe(self, clips: Sequence[Clip], keep: Keep = drop) -> list[Response]:
        return [Response("", heard=0.0) for _ in clips]

    def describe(self) -> dict[str, Any]:
        return {"control": "silence"}
