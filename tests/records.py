"""Make records that tests need without a recording, and their form in lm-eval."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from speechiq.core.audio_file import AudioFile
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.response import Response
from speechiq.siq_tasks.loaders.audio import AudioItems


def named(name: str, seconds: float = 1.0) -> Clip:
    """Return a clip of a file that does not exist, for engines that do not decode it."""
    return Clip(AudioFile(f"{name}.wav", f"{name:0>64}"), 0.0, seconds, id=name)


def items(clip: Clip, **request: Any) -> AudioItems:
    """Return the audio items of a request about a clip of a file."""
    return AudioItems(
        path=clip.source.name,
        sha256=clip.source.sha256,
        sampling_rate=SAMPLING_RATE,
        offset=clip.offset,
        duration=clip.length,
        **request,
    )


def texts(responses: Iterable[Response]) -> list[str]:
    """Return the texts of responses."""
    return [response.text for response in responses]
