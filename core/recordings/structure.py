"""Check that an audio file is complete, by the lengths that its container gives; no sample is decoded here.

Decoders do not report missing samples: libsndfile reads a WAV file that was cut in half as a shorter one.
"""

from __future__ import annotations

import mmap
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from speechiq.core.recordings import chunks, matroska, mpeg, ogg
from speechiq.core.recordings.damage import Buffer, Damage

CHECKS = {
    b"RIFF": chunks.check_riff,
    b"RIFX": chunks.check_riff,
    b"RF64": chunks.check_riff,
    b"BW64": chunks.check_riff,
    b"riff": chunks.check_wave64,
    b"FORM": chunks.check_aiff,
    b"caff": chunks.check_caf,
    b".snd": chunks.check_au,
    b"dns.": chunks.check_au,
    b"NIST": chunks.check_sphere,
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
        Damage: The file is cut off, damaged, or longer than its header says.
        OSError: The file cannot be read.
    """
    with _mapped(source) as data:
        if not len(data):
            raise Damage("not readable as audio: the file is empty")
        check = CHECKS.get(bytes(data[:4]))
        if check is None:
            check = mpeg.check if mpeg.is_mpeg(data) else None
        return check(data) if check else None


@contextmanager
def _mapped(source: Path | bytes) -> Iterator[Buffer]:
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
