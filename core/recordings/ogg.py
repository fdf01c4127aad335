"""Check Ogg files: every page has a number and a checksum, and the last page has a mark (RFC 3533)."""

import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from speechiq.core.recordings.damage import Buffer, Damage, skip_tags

FIRST, LAST = 2, 4
HEADER = struct.Struct("<4sxBqIIIB")
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


class Page(NamedTuple):
    """Hold a page of an Ogg file: its stream, first byte and flags (`FIRST`, `LAST`), and its bytes with the header."""

    flags: int
    stream: int
    number: int
    start: int
    content: bytes


def read_pages(data: Buffer) -> Iterator[Page]:
    """Yield the pages of an Ogg file, with their checksums compared; raise `Damage` if one is cut off or damaged."""
    start, ended = 0, False
    while start < len(data):
        header = bytes(data[start : start + HEADER.size])
        if not header.startswith(b"OggS"):
            if ended and skip_tags(data, start) == len(data):
                return
            raise Damage(f"damaged: no Ogg page begins at byte {start}")
        if len(header) < HEADER.size:
            raise Damage("cut off: its last page is not complete")
        _, flags, _, stream, number, checksum, segments = HEADER.unpack(header)
        table = bytes(data[start + HEADER.size : start + HEADER.size + segments])
        size = HEADER.size + segments + sum(table)
        content = bytes(data[start : start + size])
        if len(table) < segments or len(content) < size:
            raise Damage("cut off: its last page is not complete")
        if checksum_of(content) != checksum:
            raise Damage(f"damaged: the Ogg page at byte {start} does not have its checksum")
        yield Page(flags, stream, number, start, content)
        ended = bool(flags & LAST)
        start += size


def checksum_of(page: bytes) -> int:
    """Return the checksum of a page, computed with an empty checksum field."""
    # Ogg's CRC is zlib's with the bits in the other order and without its two inversions.
    blank = page[:22] + bytes(4) + page[26:]
    crc = zlib.crc32(blank.translate(_MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{crc:032b}"[::-1], 2)


def check(data: Buffer) -> None:
    """Check an Ogg file as `structure.check_structure` describes."""
    pages = list(read_pages(data))
    if (streams := sum(bool(page.flags & FIRST) for page in pages)) != 1:
        raise Damage(f"{streams} streams begin in it, and only one would be read")
    for before, page in pairwise(pages):
        # Some programs number all pages 0.
        if page.number > before.number + 1:
            raise Damage(f"damaged: Ogg page {before.number + 1} is missing at byte {page.start}")
    if not pages[-1].flags & LAST:
        raise Damage("cut off: its last Ogg page is not marked as the last")
