"""Check MP4, M4A, MOV and 3GP files: boxes, each of which gives its length (ISO 14496-12)."""

from __future__ import annotations

import struct

from speechiq.core.recordings.damage import Buffer, Damage, skip_tags

#: Names of boxes with which a file begins.
STARTS = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")
HEADER = struct.Struct(">I4s")
#: The box that lists the samples of all tracks.
LIST = b"moov"


def is_mp4(data: Buffer) -> bool:
    """Return whether a file begins with a box."""
    return bytes(data[4:8]) in STARTS


def check(data: Buffer) -> None:
    """Check an MP4 file as `structure.check_structure` describes; a length that it gives is compared later."""
    place, lists = 0, 0
    while place + HEADER.size <= len(data) and skip_tags(data, place) < len(data):
        size, name = HEADER.unpack_from(data, place)
        if size == 1:
            size = int.from_bytes(data[place + 8 : place + 16])
        elif size == 0:
            size = len(data) - place
        if size < HEADER.size or not name.isascii():
            raise Damage(f"damaged: no box begins at byte {place}")
        lists += name == LIST
        place += size
    if place > len(data):
        raise Damage(f"cut off: its last box should end at byte {place}, the file has {len(data)}")
    if skip_tags(data, place) < len(data):
        raise Damage(f"damaged: no box begins at byte {place}")
    if lists != 1:
        raise Damage(f"it has {lists} lists of samples, and one is needed: cut off, or two files in one")
