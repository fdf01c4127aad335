"""Each clip is transcribed once, however often it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from speechiq.core.response import Response
from speechiq.siq_tasks.audio import AudioClip


class Once:
    """A `transcribe` that remembers what it gave."""

    def __init__(self, transcribe: Callable[[list[AudioClip]], list[Response]]) -> None:
        self._transcribe = transcribe
        self._known: dict[tuple, Response] = {}

    def __call__(self, clips: Sequence[AudioClip]) -> list[Response]:
        keys = [(clip.key, clip.get("reference")) for clip in clips]
        new = {key: clip for key, clip in zip(keys, clips, strict=True) if key not in self._known}
        if new:
            self._known.update(zip(new, self._transcribe(list(new.values())), strict=True))
        return [self._known[key] for key in keys]
