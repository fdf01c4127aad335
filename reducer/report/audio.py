"""Find the audio of a clip for the page: inside the page if the package has it, else its file on this machine."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from speechiq.core.cache.folder import cache_dir
from speechiq.core.clip import SAMPLING_RATE, file_clip

MEDIA_TYPES = {
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".wav": "audio/wav",
}


def find_source(clip: Mapping[str, Any]) -> str:
    """Return the address of a clip for an audio player; "" if its file is not on this machine.

    Clips of the package are small and free to pass on, so they are part of the page. All others are linked by a `file:`
    address: their licenses may not allow a page to pass them on, and hours of audio would not fit; under a condition,
    which no file has, they have no player.

    Args:
        clip: `path` as in a doc: absolute, or inside `siq_tasks/`, or `clips/...` below the cache folder; optional
            `offset` and `duration` in seconds, and `transforms`.
    """
    named = clip.get("path")
    if not isinstance(named, str) or Path(named).suffix.lower() not in MEDIA_TYPES:
        return ""
    package = Path(str(files("speechiq.siq_tasks")))
    root = cache_dir() if named.startswith("clips/") else package
    try:
        file = root.joinpath(named).resolve()
        if not file.is_file():
            return ""
        if clip.get("transforms"):
            return _encode(clip) if file.is_relative_to(package.resolve()) else ""
        if file.is_relative_to(package.resolve()):
            return f"data:{MEDIA_TYPES[file.suffix.lower()]};base64,{base64.b64encode(file.read_bytes()).decode()}"
    except (OSError, ValueError):
        return ""
    return file.as_uri() + _fragment(clip)


def find_sounds(clips: Mapping[str, Any]) -> dict[str, str]:
    """Return clip -> address of its audio, for the clips whose file is on this machine.

    Args:
        clips: Clip -> its audio as in a doc; anything but a mapping has no address.
    """
    sources = {clip: find_source(audio) for clip, audio in clips.items() if isinstance(audio, Mapping)}
    return {clip: source for clip, source in sources.items() if source}


def _encode(clip: Mapping[str, Any]) -> str:
    """Return a clip under a condition, which is in no file, as Ogg Vorbis for an audio player."""
    import soundfile

    encoded = io.BytesIO()
    soundfile.write(encoded, np.clip(file_clip(clip).samples, -1, 1), SAMPLING_RATE, format="OGG", subtype="VORBIS")
    return f"data:audio/ogg;base64,{base64.b64encode(encoded.getvalue()).decode()}"


def _fragment(clip: Mapping[str, Any]) -> str:
    """Return the span of the file that is the clip, as a media fragment; "" for a complete file."""
    start, length = clip.get("offset"), clip.get("duration")
    if not isinstance(start, int | float) or not isinstance(length, int | float) or not start:
        return ""
    return f"#t={start:g},{start + length:g}"
