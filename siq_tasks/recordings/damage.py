"""What the checks of all containers share."""

from __future__ import annotations

import mmap

Buffer = bytes | mmap.mmap

#: Bytes after the audio that no header describes and that are passed over: tags and padding.
SPARE = 4096
UNKNOWN_END = "the file does not say how long it is, so a cut at its end would not be noticed"


class Damage(ValueError):
    """A file that is cut off, damaged, or not as long as it says; the message says which."""


def compare(promised: int, held: int, after: int = 0) -> None:
    """Compare the bytes of samples that a header promises with those that are in the file.

    Args:
        promised: as the header says.
        held: from the first sample to the end of the file.
        after: of these, the bytes at the end that nothing describes.

    Raises:
        Damage: bytes are missing, or too many of them are not described.
    """
    if held < promised:
        raise Damage(f"cut off: its header promises {promised} bytes of samples, the file has {held}")
    if after > SPARE:
        raise Damage(
            f"its header promises {promised} bytes of samples, but {after} more follow that it does not describe"
        )
