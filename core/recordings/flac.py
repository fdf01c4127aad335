"""Check FLAC files for what follows the samples that their header promises; FFmpeg's parser finds the frames."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

from speechiq.core.recordings.damage import Buffer, Damage

#: Bytes and beginning of an ID3 tag at the end of a file.
TAG, TAG_START = 128, b"TAG"


def check(data: Buffer) -> None:
    """Check a FLAC file as `structure.check_structure` describes; missing frames are found when it is decoded."""
    import av

    try:
        _check(io.BytesIO(data) if isinstance(data, bytes) else data)
    except av.FFmpegError as error:
        raise Damage("cut off or damaged: no FLAC frame begins in it") from error


def _check(file: Any) -> None:
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
