"""Check that an audio file is complete, by the lengths that its container gives; no sample is decoded here.

Decoders do not report missing samples: libsndfile reads a WAV file that was cut in half as a shorter one.
"""

import io
import mmap
import stat
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from speechiq.core.recordings import mpeg, ogg, wave
from speechiq.core.recordings.damage import OTHER_KIND, UNKNOWN_END, Buffer, Damage, skip_tags

Check = Callable[[Buffer], str | None]
#: Bytes and beginning of an ID3 tag at the end of a FLAC file.
TAG, TAG_START = 128, b"TAG"
#: Names of the elements of a Matroska file that contain others.
SEGMENT, CLUSTER = 0x18538067, 0x1F43B675
#: Names of boxes with which an MP4 file begins, and of the one that lists the samples of all tracks.
MP4_STARTS, SAMPLE_LIST = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"), b"moov"
#: Names of boxes of an MP4 file in fragments: a fragment, an index of what follows, and the index at the end.
FRAGMENT, INDEX, LAST_INDEX = b"moof", b"sidx", b"mfra"
#: Size and name of a box.
BOX = struct.Struct(">I4s")


def check_structure(source: Path | bytes) -> str | None:
    """Refuse an audio file whose container is cut off (`Damage`); return why a cut may not be noticed, or None."""
    with mapped(source) as data:
        if not len(data):
            raise Damage("not readable as audio: the file is empty")
        return _choose(data)(data)


def _choose(data: Buffer) -> Check:
    start = skip_tags(data, 0)
    if check := CHECKS.get(bytes(data[start : start + 4])):
        return check
    if bytes(data[4:8]) in MP4_STARTS:
        return _check_mp4
    if mpeg.is_mpeg(data):
        return mpeg.check
    raise Damage(OTHER_KIND)


@contextmanager
def mapped(source: Path | bytes) -> Iterator[Buffer]:
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


def _check_flac(data: Buffer) -> None:
    """Check what follows the samples of a FLAC file; FFmpeg's parser finds the frames, decoding the missing ones."""
    import av

    try:
        _read_flac(io.BytesIO(data) if isinstance(data, bytes) else data)
    except av.FFmpegError as error:
        raise Damage("cut off or damaged: no FLAC frame begins in it") from error


def _read_flac(file: Any) -> None:
    import av

    with av.open(file, "r", options={"format_whitelist": "flac"}) as container:
        stream = container.streams.audio[0]
        frames, last = 0, b""
        for packet in container.demux(stream):
            frames += packet.duration or 0
            last = bytes(packet) or last
        if not stream.duration:
            raise Damage("its header does not give the number of samples, so a cut would not be noticed")
        if frames > stream.duration:
            raise Damage(f"longer than its header says: it promises {stream.duration} samples and has {frames}")
        frame = last[:-TAG] if last[-TAG:].startswith(TAG_START) else last
        # The parser leaves what follows the last frame in its packet. A frame without its last byte does not decode.
        with suppress(av.FFmpegError):
            if len(frame) > 1 and stream.codec_context.decode(av.Packet(frame[:-1])):
                raise Damage("bytes follow its last frame that are not in its samples")


def _check_matroska(data: Buffer) -> None:
    """Check a Matroska or WebM file: nested elements that give their lengths (RFC 8794); the sound's is used later."""
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


def _check_mp4(data: Buffer) -> str | None:
    """Check an MP4, M4A, MOV or 3GP file: boxes that give their lengths (ISO 14496-12); the sound's is used later."""
    place, names = 0, Counter[bytes]()
    while place + BOX.size <= len(data) and skip_tags(data, place) < len(data):
        size, name = BOX.unpack_from(data, place)
        if size == 1:
            size = int.from_bytes(data[place + 8 : place + 16])
        elif size == 0:
            size = len(data) - place
        if size < BOX.size or not (name.isascii() and name.decode().isprintable()):
            raise Damage(f"damaged: no box begins at byte {place}")
        names[name] += 1
        place += size
    if place > len(data):
        raise Damage(f"cut off: its last box should end at byte {place}, the file has {len(data)}")
    if skip_tags(data, place) < len(data):
        raise Damage(f"damaged: no box begins at byte {place}")
    if (lists := names[SAMPLE_LIST]) != 1:
        raise Damage(f"it has {lists} lists of samples, and one is needed: cut off, or two files in one")
    # An index before each fragment does not give the number of fragments.
    has_end = not names[FRAGMENT] or names[LAST_INDEX] or names[INDEX] == 1
    return None if has_end else UNKNOWN_END


#: First bytes of a file -> the check of its kind.
CHECKS: dict[bytes, Check] = {
    b"RIFF": wave.check,
    b"RF64": wave.check,
    b"BW64": wave.check,
    b"fLaC": _check_flac,
    b"OggS": ogg.check,
    b"\x1aE\xdf\xa3": _check_matroska,
}
