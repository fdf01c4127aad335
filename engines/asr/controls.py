"""Controls in the place of a recognizer: the ceiling (`gold`) and the floor (`silence`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.response import Response
from speechiq.engines.base import ASREngine, Setup
from speechiq.engines.options import Options


@runtime_checkable
class NeedsReferences(Protocol):
    """An engine that is given the reference texts of its clips; no other engine can reach them."""

    references: Mapping[Clip, str]


class Gold(ASREngine):
    """Give the reference text: what a perfect recognizer would give.

    Attributes:
        references: Of the clips under work; filled by the system's owner.
    """

    def __init__(self, model: str, options: Options, setup: Setup) -> None:
        self.references: Mapping[Clip, str] = {}

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        if silent := [clip.name for clip in clips if clip not in self.references]:
            raise SpeechIQError(
                f"pretrained=gold+...: {silent[0]} comes without a reference text; run `gold` on "
                f"tasks whose docs hold `text`"
            )
        return [Response(self.references[clip], coverage=1.0) for clip in clips]

    def describe(self) -> dict[str, Any]:
        return {"control": "gold"}


class Silence(ASREngine):
    """Hears nothing: what is right all the same is known without listening."""

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        return [Response("", coverage=0.0) for _ in clips]

    def describe(self) -> dict[str, Any]:
        return {"control": "silence"}
