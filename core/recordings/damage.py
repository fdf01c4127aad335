"""Define the error of a damaged file and the comparison that the checks of all containers share."""

from __future__ import annotations

import mmap

Buffer = bytes | mmap.mmap

#: Bytes after the audio that no header describes and that are accepted: tags and padding.
SPARE = 4096
UNKNOWN_END = "the file does not give its length, so a cut at its end would not be noticed"


class Damage(ValueError):
    """The error of a file that is cut off, damaged, or of another length than its header gives."""


def compare(promised: int, present: int, after: int = 0) -> None:
    """Compare the bytes of samples that a header promises with those that are in the file.

    Args:
        promised: Bytes according to the header.
        present: Bytes from the first sample to the end of the file.
        after: Bytes of `present` at the end that no header describes.

    Raises:
        Damage: Bytes are missing, or too many of them are not described.
    """
    if present < promised:
        raise Damage(f"cut off: its header promises {promised} bytes of samples, the file has {present}")
    if after > SPARE:
        raise Damage(
            f"its header promises {promised} bytes of samples, but {after} more follow that it does not describe"
        )
