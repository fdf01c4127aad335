"""Check WAV files: chunks, each of which gives its length; one of them has the samples.

In RF64 and BW64, which tools write above 4 GB, the first chunk, `ds64`, has the length of the samples.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from speechiq.core.recordings.damage import OTHER_KIND, UNKNOWN_END, Buffer, Damage, skip_tags

#: The length of samples that do not fit into 32 bits.
LARGE = 0xFFFFFFFF
#: Written by programs that stream (ffmpeg, SoX, arecord) instead of a length that they do not know yet.
STREAMED = {0x7FFFF000, 0x7FFFFFFF, 0x80000000, LARGE}


class Chunk(NamedTuple):
    """Hold a chunk: its name, and the place and length of its content according to its header."""

    name: bytes
    start: int
    length: int

    @property
    def end(self) -> int:
        """Return the place of the next chunk."""
        return self.start + self.length + self.length % 2


def check(data: Buffer) -> str | None:
    """Check a WAV file as `structure.check_structure` describes."""
    if data[8:12] != b"WAVE":
        raise Damage(OTHER_KIND)
    chunks = list(_walk(data))
    samples = [chunk for chunk in chunks if chunk.name == b"data"]
    if not samples:
        raise Damage("cut off before its samples begin")
    _, start, promised = samples[0]
    present = len(data) - start
    if promised in STREAMED:
        _refuse_half_sample(data, chunks, present)
        return UNKNOWN_END
    if present < promised:
        raise Damage(f"cut off: its header promises {promised} bytes of samples, the file has {present}")
    if len(samples) > 1:
        raise Damage(f"it has {len(samples)} chunks of samples, of which only one would be decoded")
    if (rest := len(data) - skip_tags(data, chunks[-1].end)) > 0:
        raise Damage(
            f"its header promises {promised} bytes of samples, but {rest} more follow that it does not describe"
        )
    return None


def _walk(data: Buffer) -> Iterator[Chunk]:
    """Yield the chunks up to the first that is not one of the file; a chunk of samples may be cut off."""
    header = struct.Struct("<4sI")
    place, large = header.size + 4, 0
    while place + header.size <= len(data):
        name, length = header.unpack_from(data, place)
        if name == b"ds64" and length >= 16 and place + 24 <= len(data):
            (large,) = struct.unpack_from("<Q", data, place + 16)
        if name == b"data" and length == LARGE:
            length = large or LARGE
        chunk = Chunk(name, place + header.size, length)
        is_name = name != b"RIFF" and name.isascii() and name.decode().isprintable()
        if not is_name or (chunk.end > len(data) + 1 and name != b"data"):
            return
        yield chunk
        place = chunk.end


def _refuse_half_sample(data: Buffer, chunks: list[Chunk], present: int) -> None:
    """Refuse samples that end within a frame, the samples of all channels at one time."""
    for chunk in chunks:
        if chunk.name == b"fmt " and chunk.length >= 14:
            (frame,) = struct.unpack_from("<H", data, chunk.start + 12)
            if frame and present % frame:
                raise Damage("cut off: its last sample is not complete")
