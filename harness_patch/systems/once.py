"""Each clip is transcribed once, however often it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from speechiq.core.response import Response
from speechiq.siq_tasks.audio import AudioClip


class Once:
    """A `transcribe` that remembers what it gave.

    Args:
        transcribe: what is asked for new clips.
        told: the items of a clip that its transcript depends on, besides the audio.
    """

    def __init__(
        self,
        transcribe: Callable[[list[AudioClip]], list[Response]],
        told: Sequence[str] = ("reference", "words"),
    ) -> None:
        self._transcribe, self._told = transcribe, told
        self._known: dict[tuple, Response] = {}

    def __call__(self, clips: Sequence[AudioClip]) -> list[Response]:
        keys = [(clip.key, *map(clip.get, self._told)) for clip in clips]
        new = {key: clip for key, clip in zip(keys, clips, strict=True) if key not in self._known}
        if new:
            self._known.update(zip(new, self._transcribe(list(new.values())), strict=True))
        return [self._known[key] for key in keys]
