"""Check files whose header gives the bytes of samples that follow: WAV, RF64, Wave64, AIFF, CAF, AU and NIST SPHERE."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from speechiq.core.recordings.damage import SPARE, UNKNOWN_END, Buffer, Damage, compare

#: Written by programs that stream (ffmpeg, SoX, arecord) instead of a length they do not know yet.
STREAMED = {-1, 0x7FFFF000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF}
NO_SAMPLES = "cut off before its samples begin"


class Layout(NamedTuple):
    """The division of a file into chunks.

    Attributes:
        start: Byte of the first chunk.
        name: Number of bytes of a chunk's name.
        size: `struct` format of its length.
        align: Chunks begin at multiples of this number of bytes.
        inclusive: Whether the length counts name and length.
        data: Beginning of the name of the chunk of samples.
    """

    start: int
    name: int
    size: str
    align: int
    inclusive: bool
    data: bytes


class Chunk(NamedTuple):
    """A chunk: its name, and the place and length of its content according to its header."""

    name: bytes
    start: int
    length: int


WAVE = Layout(12, 4, "<I", 2, False, b"data")
WAVE_BIG = WAVE._replace(size=">I")
WAVE64 = Layout(40, 16, "<Q", 8, True, b"data")
AIFF = Layout(12, 4, ">I", 2, False, b"SSND")
CAF = Layout(8, 4, ">q", 1, False, b"data")


def check_riff(data: Buffer) -> str | None:
    """Check a WAV or RF64 file as `structure.check_structure` describes."""
    if data[8:12] != b"WAVE":
        return None
    return _check(data, WAVE_BIG if data[:4] == b"RIFX" else WAVE)


def check_wave64(data: Buffer) -> str | None:
    """Check a Wave64 file as `structure.check_structure` describes."""
    return _check(data, WAVE64)


def check_aiff(data: Buffer) -> str | None:
    """Check an AIFF file as `structure.check_structure` describes."""
    return _check(data, AIFF) if data[8:12] in (b"AIFF", b"AIFC") else None


def check_caf(data: Buffer) -> str | None:
    """Check a CAF file as `structure.check_structure` describes."""
    return _check(data, CAF)


def check_au(data: Buffer) -> str | None:
    """Check an AU file as `structure.check_structure` describes."""
    if len(data) < 24:
        raise Damage(NO_SAMPLES)
    start, promised = struct.unpack_from(">II" if data[:4] == b".snd" else "<II", data, 4)
    if promised in STREAMED:
        return UNKNOWN_END
    present = len(data) - start
    compare(promised, present, present - promised)
    return None


def check_sphere(data: Buffer) -> str | None:
    """Check a NIST SPHERE file as `structure.check_structure` describes."""
    header = bytes(data[:SPARE]).decode("latin-1")
    found = dict(re.findall(r"^(sample_count|channel_count|sample_n_bytes) -i (\d+)", header, re.MULTILINE))
    length = re.match(r"NIST_1A\s+(\d+)", header)
    if length is None or len(found) < 3:
        raise Damage("its header does not give the number of samples")
    promised = int(found["sample_count"]) * int(found["channel_count"]) * int(found["sample_n_bytes"])
    present = len(data) - int(length[1])
    compare(promised, present, present - promised)
    return None


def _check(data: Buffer, layout: Layout) -> str | None:
    long_size = None
    for chunk in _walk(data, layout, 0):
        if chunk.name == b"ds64":
            long_size = struct.unpack_from("<Q", data, chunk.start + 8)[0]
        if not chunk.name.startswith(layout.data):
            continue
        promised = chunk.length
        if promised == 0xFFFFFFFF and long_size is not None:
            promised = long_size
        if promised in STREAMED:
            return UNKNOWN_END
        present = len(data) - chunk.start
        compare(promised, present)
        compare(promised, present, _count_spare(data, layout, chunk.start + promised))
        return None
    raise Damage(NO_SAMPLES)


def _walk(data: Buffer, layout: Layout, start: int) -> Iterator[Chunk]:
    """Yield the chunks from `start` on (0: the first), up to the first that is not valid."""
    place = start or layout.start
    header = layout.name + struct.calcsize(layout.size)
    while place + header <= len(data):
        name = bytes(data[place : place + layout.name])
        (length,) = struct.unpack_from(layout.size, data, place + layout.name)
        length -= header if layout.inclusive else 0
        if not name[:4].isascii() or not name[:4].decode().isprintable() or length < -1:
            return
        yield Chunk(name, place + header, length)
        place += header + length
        place += -place % layout.align


def _count_spare(data: Buffer, layout: Layout, end: int) -> int:
    """Return the number of bytes after the samples that belong to no chunk."""
    described, whole_file = end, bytes(data[: layout.name])
    for chunk in _walk(data, layout, end + -end % layout.align):
        if chunk.name == whole_file or chunk.start + chunk.length > len(data) + layout.align:
            break
        described = chunk.start + chunk.length
    return len(data) - described
