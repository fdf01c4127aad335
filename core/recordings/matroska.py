"""Check Matroska and WebM files: nested elements, each of which gives its length (RFC 8794)."""

from __future__ import annotations

from speechiq.core.recordings.damage import Buffer, Damage

SEGMENT, CLUSTER = 0x18538067, 0x1F43B675


def check(data: Buffer) -> None:
    """Check a Matroska file as `structure.check_structure` describes; a length that it gives is compared later."""
    place = 0
    while place < len(data):
        name, after = _read_number(data, place, keep_marker=True)
        length, content = _read_number(data, after, keep_marker=False)
        unknown = length == (1 << 7 * (content - after)) - 1
        if name == SEGMENT and not unknown and content + length > len(data):
            raise Damage(f"cut off: it should have {content + length} bytes and has {len(data)}")
        if name in (SEGMENT, CLUSTER):
            place = content
        elif unknown:
            raise Damage(f"damaged: the element at byte {place} has no length")
        else:
            place = content + length
    if place > len(data):
        raise Damage(f"cut off: its last element should end at byte {place}, the file has {len(data)}")


def _read_number(data: Buffer, place: int, *, keep_marker: bool) -> tuple[int, int]:
    """Return a number of variable length, and the place after it."""
    if place >= len(data):
        raise Damage("cut off: its last element is not complete")
    first = data[place]
    size = 9 - first.bit_length()
    if size > 8:
        raise Damage(f"damaged: no element begins at byte {place}")
    if place + size > len(data):
        raise Damage("cut off: its last element is not complete")
    number = int.from_bytes(data[place : place + size])
    return (number if keep_marker else number & (1 << 7 * size) - 1), place + size
