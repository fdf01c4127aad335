"""Check that an audio file is complete, by the lengths that its container gives; no sample is decoded here.

Decoders do not report missing samples: libsndfile reads a WAV file that was cut in half as a shorter one.
"""

from __future__ import annotations

import mmap
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from speechiq.core.recordings import flac, matroska, mp4, mpeg, ogg, wave
from speechiq.core.recordings.damage import OTHER_KIND, Buffer, Damage, skip_tags

Check = Callable[[Buffer], str | None]
#: First bytes of a file -> the check of its kind.
CHECKS: dict[bytes, Check] = {
    b"RIFF": wave.check,
    b"RIFX": wave.check,
    b"fLaC": flac.check,
    b"OggS": ogg.check,
    b"\x1aE\xdf\xa3": matroska.check,
}


def check_structure(source: Path | bytes) -> str | None:
    """Check that the container of an audio file is complete.

    Args:
        source: The file, or its bytes.

    Returns:
        None if the file gives its length and has it; else a warning: why a cut at its end would not be noticed.

    Raises:
        Damage: The file is of another kind, cut off, damaged, or longer than its header says.
        OSError: The file cannot be read.
    """
    with mapped(source) as data:
        if not len(data):
            raise Damage("not readable as audio: the file is empty")
        return _choose(data)(data)


def _choose(data: Buffer) -> Check:
    start = skip_tags(data, 0)
    if check := CHECKS.get(bytes(data[start : start + 4])):
        return check
    if mp4.is_mp4(data):
        return mp4.check
    if mpeg.is_mpeg(data):
        return mpeg.check
    raise Damage(OTHER_KIND)


@contextmanager
def mapped(source: Path | bytes) -> Iterator[Buffer]:
    """Yield the bytes of a file without reading all of them into memory."""
    if isinstance(source, bytes):
        yield source
        return
    if not stat.S_ISREG(source.stat().st_mode):
        raise Damage("not readable as audio: it is a folder or a device")
    with source.open("rb") as stream:
        if not stream.seek(0, 2):
            yield b""  # An empty file cannot be mapped.
            return
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data
