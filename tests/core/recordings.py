"""Audio files of every kind that the two readers read, whole and spoiled in every way, for the tests."""

from __future__ import annotations

import io
import struct
from contextlib import suppress
from pathlib import Path

import av
import numpy as np
import soundfile

from speechiq.core.recordings.audio_file import AudioFile

SECONDS = 4.0


def in_clip_folder(source: object) -> bool:
    """Return whether audio is a file in the clip folder, under the name of its content."""
    is_file = isinstance(source, AudioFile) and source.path.startswith("clips/")
    return is_file and Path(source.path).stem == source.sha256


def speech_like(rate: int, seconds: float = SECONDS, channels: int = 1) -> np.ndarray:
    """A tone in noise, float32, shape (frames, channels): no two parts of it are the same."""
    frames = round(rate * seconds)
    tone = 0.3 * np.sin(2 * np.pi * 440 * np.arange(frames) / rate)
    noise = 0.01 * np.random.default_rng(0).standard_normal(frames)
    return np.repeat((tone + noise).astype(np.float32)[:, None], channels, axis=1)


def by_sndfile(kind: str, coding: str | None, rate: int = 16_000, **options) -> bytes:
    """A file that libsndfile writes."""
    file = io.BytesIO()
    soundfile.write(file, options.pop("samples", speech_like(rate)), rate, format=kind, subtype=coding, **options)
    return file.getvalue()


class Pipe:
    """A file in which nobody can go back, as in a pipe."""

    def __init__(self) -> None:
        self.file = io.BytesIO()

    def write(self, data: bytes) -> int:
        return self.file.write(data)


def by_ffmpeg(
    kind: str,
    codec: str,
    rate: int = 16_000,
    *,
    seconds: float = SECONDS,
    piped: bool = False,
    bits: int = 64_000,
    **options,
) -> bytes:
    """A file that FFmpeg writes; `options` are the muxer's."""
    target = Pipe() if piped else io.BytesIO()
    with av.open(target, "w", format=kind, options=options) as container:
        stream = container.add_stream(codec, rate=rate, layout="mono", bit_rate=bits)
        stream.codec_context.open(strict=False)
        frame = av.AudioFrame.from_ndarray(speech_like(rate, seconds).T.copy(), format="fltp", layout="mono")
        frame.sample_rate = rate
        form = {"format": stream.codec_context.format, "layout": "mono", "rate": rate}
        sized = av.AudioResampler(**form, frame_size=stream.codec_context.frame_size or 1024)
        for part in [*sized.resample(frame), *sized.resample(None), None]:
            container.mux(stream.encode(part))
    return (target.file if piped else target).getvalue()


SNDFILE = {
    "wav": ("WAV", "PCM_16"), "wav-float": ("WAV", "FLOAT"), "wav-24": ("WAV", "PCM_24"), "wavex": ("WAVEX", "PCM_16"),
    "rf64": ("RF64", "PCM_16"),
    "wav-ulaw": ("WAV", "ULAW"), "wav-alaw": ("WAV", "ALAW"), "wav-gsm": ("WAV", "GSM610", 8_000),
    "wav-ima": ("WAV", "IMA_ADPCM"), "wav-ms": ("WAV", "MS_ADPCM"), "wav-g721": ("WAV", "G721_32", 8_000),
    "flac": ("FLAC", "PCM_16"), "flac-24": ("FLAC", "PCM_24"), "vorbis": ("OGG", "VORBIS"), "opus": ("OGG", "OPUS"),
    "mp3": ("MP3", None), "mp3-44": ("MP3", None, 44_100),
}  # fmt: skip
FFMPEG = {
    "m4a": ("ipod", "aac"), "m4a-alac": ("ipod", "alac"), "mp4-parts": ("mp4", "aac"), "mov-pcm": ("mov", "pcm_s16le"),
    "3gp": ("3gp", "libopencore_amrnb", 8_000), "webm": ("webm", "libopus", 48_000), "mka": ("matroska", "aac"),
    "wav-mp3": ("wav", "libmp3lame"), "wav-g726": ("wav", "g726", 8_000), "mp3-id3": ("mp3", "libmp3lame"),
}  # fmt: skip
MUXER = {"mp4-parts": {"movflags": "frag_keyframe+empty_moov"}}
BITS = {"3gp": 12_200, "wav-g726": 32_000}


def with_two_rates() -> bytes:
    """MP3 of frames of two bit rates, without a header that gives their number or any tag."""
    options = {"seconds": SECONDS / 2 - 0.05, "write_xing": "0", "id3v2_version": "0"}
    return b"".join(by_ffmpeg("mp3", "libmp3lame", bits=bits, **options) for bits in (32_000, 128_000))


#: What no header gives the length of.
OPEN_END = {
    "mp3-vbr": with_two_rates,
    "mp3-bare": lambda: by_ffmpeg("mp3", "libmp3lame", write_xing="0"),
    "mp4-piped": lambda: by_ffmpeg("mp4", "aac", piped=True, movflags="frag_every_frame+empty_moov+skip_trailer"),
    "webm-piped": lambda: by_ffmpeg("webm", "libopus", 48_000, piped=True),
    "wav-piped": lambda: by_sndfile("WAV", "PCM_16").replace(struct.pack("<I", 128_000), b"\xff" * 4, 1),
}


def whole_files() -> dict[str, bytes]:
    """A file of `SECONDS` of each kind."""
    files = {name: by_sndfile(*how) for name, how in SNDFILE.items()}
    for name, how in FFMPEG.items():
        files[name] = by_ffmpeg(*how, bits=BITS.get(name, 64_000), **MUXER.get(name, {}))
    return files | {name: make() for name, make in OPEN_END.items()}


def spoil(data: bytes) -> dict[str, bytes]:
    """The same file cut off and damaged."""
    middle, noise = len(data) // 2, np.random.default_rng(1).integers(0, 256, 200, dtype=np.uint8).tobytes()
    return {
        "cut to 10 %": data[: len(data) // 10],
        "cut to 50 %": data[:middle],
        "cut to 90 %": data[: len(data) * 9 // 10],
        "last byte missing": data[:-1],
        "header only": data[:44],
        "damaged": data[:middle] + noise + data[middle + len(noise) :],
        "gap": data[:middle] + data[middle + 1000 :],
    }


def count_by_ffmpeg(data: bytes) -> float:
    """The seconds that FFmpeg decodes, faults or not, without a limit by the container's own length."""
    seconds = 0.0
    with av.open(io.BytesIO(data), "r") as container:
        for packet in container.demux(audio=0):
            with suppress(av.FFmpegError):
                seconds += sum(frame.samples / frame.sample_rate for frame in packet.decode())
    return seconds
