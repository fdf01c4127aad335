"""Check MP3 files: a sequence of frames, of which the first may give their number (ISO 11172-3, 13818-3)."""

from typing import NamedTuple

from speechiq.core.recordings.damage import UNKNOWN_END, Buffer, Damage, skip_tags

#: kbit/s of MPEG-1 and of the others, for the values 1 to 14 of a header.
KBITS_1 = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
KBITS_2 = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
#: The bits of layer III in a header.
LAYER_3 = 1
RATES = (44_100, 48_000, 32_000)
#: MPEG version in a header -> divisor of `RATES`.
DIVISORS = {3: 1, 2: 2, 0: 4}
#: Bytes before the first frame that are skipped.
LEAD = 65_536


class Frame(NamedTuple):
    """Hold the header of a frame: the frame's bytes, the fields that are constant in a file, and whether it is mono."""

    length: int
    kind: tuple[int, int]
    mono: bool


def is_mpeg(data: Buffer) -> bool:
    """Return whether frames of MP3 begin at the start of a file, or after its tags."""
    return _find_first(data) is not None


def has_no_count(data: Buffer) -> bool:
    """Return whether a file is MP3 that does not give its number of frames."""
    found = _find_first(data)
    return found is not None and _read_count(data, *found) is None


def check(data: Buffer) -> str | None:
    """Check an MP3 file as `structure.check_structure` describes."""
    found = _find_first(data)
    if found is None:
        raise Damage("damaged: no MP3 frame begins in it")
    place, first = found
    promised, frames = _read_count(data, place, first), 0
    while place < len(data):
        frame = read_frame(data, place)
        if frame is None or frame.kind != first.kind:
            if (after := skip_tags(data, place)) > place:
                place = after
                continue
            state = "cut off" if len(data) - place < 4 else "damaged"
            raise Damage(f"{state}: no MP3 frame begins at byte {place}")
        if place + frame.length > len(data):
            raise Damage(f"cut off: its last frame should end at byte {place + frame.length}, the file has {len(data)}")
        frames += 1
        place += frame.length
    if promised is None:
        return UNKNOWN_END
    if abs(frames - 1 - promised) > 1:
        state = "cut off or damaged" if frames <= promised else "longer than its header says"
        raise Damage(f"{state}: its header promises {promised} frames, the file has {frames - 1}")
    return None


def read_frame(data: Buffer, place: int) -> Frame | None:
    """Return the frame whose header is at `place`, or None if there is none.

    >>> read_frame(bytes.fromhex("fff388c4"), 0)
    Frame(length=288, kind=(2, 16000), mono=True)
    """
    header = int.from_bytes(data[place : place + 4])
    version, layer = header >> 19 & 3, header >> 17 & 3
    bits, rate, padding = header >> 12 & 15, header >> 10 & 3, header >> 9 & 1
    if header >> 21 != 0x7FF or version not in DIVISORS or layer != LAYER_3 or bits in (0, 15) or rate == 3:
        return None
    hertz = RATES[rate] // DIVISORS[version]
    kbits, bytes_per_kbit = (KBITS_1, 144_000) if version == 3 else (KBITS_2, 72_000)
    return Frame(bytes_per_kbit * kbits[bits - 1] // hertz + padding, (version, hertz), header >> 6 & 3 == 3)


def _find_first(data: Buffer) -> tuple[int, Frame] | None:
    place = skip_tags(data, 0)
    for start in range(place, min(place + (LEAD if place or data[:1] in (b"\xff", b"\0") else 1), len(data))):
        frame = read_frame(data, start)
        if frame is None:
            continue
        after = read_frame(data, start + frame.length)
        if (after and after.kind == frame.kind) or (start == place and start + frame.length >= len(data)):
            return start, frame
    return None


def _read_count(data: Buffer, place: int, first: Frame) -> int | None:
    """Return the number of frames that follow the first one, according to it."""
    side = {True: (17, 32), False: (9, 17)}[first.kind[0] == 3][not first.mono]
    for at in (place + 4 + side, place + 6 + side):
        if bytes(data[at : at + 4]) in (b"Xing", b"Info") and data[at + 7] & 1:
            return int.from_bytes(data[at + 8 : at + 12])
    at = place + 36
    if bytes(data[at : at + 4]) == b"VBRI":
        return int.from_bytes(data[at + 14 : at + 18])
    return None
