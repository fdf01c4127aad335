"""Define the error of a damaged file, and find the tags and the padding that may follow its samples."""

import mmap

Buffer = bytes | mmap.mmap

UNKNOWN_END = "the file does not give its length, so a cut at its end would not be noticed"
OTHER_KIND = "not readable as audio: not WAV, FLAC, OGG, MP3, MP4, M4A or WebM; convert other kinds to WAV or FLAC"
#: Most zero bytes at the end of a file that count as padding.
PADDING = 4096


class Damage(ValueError):
    """Report the error of a file that is cut off, damaged, or of another length than its header gives."""


def skip_tags(data: Buffer, place: int) -> int:
    """Return the place after the ID3 and APE tags that begin at `place`, and after zeros that end the file.

    >>> skip_tags(b"TAG" + bytes(125) + b"samples", 0), skip_tags(b"samples", 0), skip_tags(bytes(9), 2)
    (128, 0, 9)
    """
    while length := _measure_tag(bytes(data[place : place + 32])):
        place += length
    padding = data[place : place + PADDING + 1]
    return len(data) if place + PADDING >= len(data) and not any(padding) else place


def _measure_tag(head: bytes) -> int:
    """Return the bytes of the tag of which `head` are the first 32; 0 without a tag."""
    if head.startswith(b"ID3") and len(head) >= 10:
        sizes = zip(head[6:10], (21, 14, 7, 0), strict=True)
        return 10 + sum((byte & 127) << shift for byte, shift in sizes) + (10 if head[5] & 16 else 0)
    if head.startswith(b"APETAGEX") and len(head) == 32:
        has_items = head[23] & 32
        return 32 + (int.from_bytes(head[12:16], "little") if has_items else 0)
    if head.startswith(b"TAG"):
        return 227 if head.startswith(b"TAG+") else 128
    return 0
