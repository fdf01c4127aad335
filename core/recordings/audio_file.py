"""Decode spans of audio files to mono at the sampling rate of all clips, and keep files in the clip folder."""

import hashlib
import io
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import cache_dir
from speechiq.core.files.plain import hash_file, write_whole
from speechiq.core.recordings.inspection import inspect, measure_peak, measure_seconds
from speechiq.core.recordings.readers import Damage, open_reader

#: Sampling rate of all clips, Hz.
SAMPLING_RATE = 16_000
#: Seconds by which a listed clip may end after its file, as lengths are rounded in lists.
TOLERANCE_S = 0.1
PACKAGE = Path(__file__).parents[2] / "siq_tasks"
#: Seconds of a file that are decoded at a time.
BLOCK_S = 10


@dataclass(frozen=True, slots=True)
class AudioFile:
    """Refer to an audio file.

    A relative `path` is inside `siq_tasks/`, or, if it begins with `clips/`, below the cache folder. Docs are therefore
    the same on every machine.
    """

    path: str
    sha256: str

    @property
    def name(self) -> str:
        """Return the path; see `Source.name`."""
        return self.path

    @property
    def file(self) -> Path:
        """Return the path on this machine."""
        root = cache_dir() if self.path.startswith("clips/") else PACKAGE
        return root / self.path

    @property
    def in_clip_folder(self) -> bool:
        """Return whether the file is in the clip folder, under the name of its content."""
        return self.path.startswith("clips/") and Path(self.path).stem == self.sha256

    def blocks(self, offset: float, length: float) -> Iterator[np.ndarray]:
        """Decode a span block by block; see `Source.blocks`."""
        return decode_blocks(self.file, offset, length)

    def check(self, offset: float, length: float) -> None:
        """Refuse a file that cannot be decoded in full, or differs from the listed one, for a clip of it (both in s).

        It is decoded to its end, in blocks, once per process. Files in the clip folder were decoded when they were put
        there, under the sha256 of their bytes.
        """
        end, seconds = offset + length, math.inf
        if not (self.in_clip_folder and self.file.is_file()):
            seconds = measure_seconds(self.file)
        if not 0 <= offset < end <= seconds + TOLERANCE_S:
            raise SpeechIQError(
                self.file,
                f"the clip should end at {end:.2f} s but the file has {seconds:.2f} s",
                "restore the file or correct the clip's duration",
            )
        if file_sha256(self.file) != self.sha256:
            raise SpeechIQError(
                self.file,
                f"its sha256 is not {self.sha256[:12]}..., the file has changed since the clip was listed",
                "restore it or list it again",
            )


#: Returns the sha256 of a file that does not change while the program runs.
file_sha256 = cache(hash_file)


def decode(source: Path | bytes, offset: float, duration: float) -> np.ndarray:
    """Return the audio of a file from `offset` (s) on, for `duration` (s): float32, (samples,), mono, 16 kHz."""
    return np.concatenate(list(decode_blocks(source, offset, duration)))


def decode_blocks(source: Path | bytes, offset: float, duration: float) -> Iterator[np.ndarray]:
    """Yield the audio of a file block by block, so that memory does not grow with `duration`; see `decode`."""
    name = "the audio" if isinstance(source, bytes) else str(source)
    try:
        with open_reader(source) as reader:
            reader.skip(round(offset * reader.rate))
            resample = _make_resampler(reader.rate)
            left = wanted = round(duration * reader.rate)
            block = BLOCK_S * reader.rate
            while len(channels := reader.read(min(left, block))):
                left -= len(channels)
                mono = channels.mean(axis=1, dtype=np.float32)
                measure_peak(mono)
                yield resample(mono)
            if (missing := duration - (wanted - left) / reader.rate) > TOLERANCE_S:
                raise Damage(f"the last {missing:.2f} s of {duration:.2f} s from {offset:.2f} s on are missing")
            yield resample(np.empty(0, np.float32), last=True)
    except Damage as damage:
        raise SpeechIQError(name, damage, "replace the file") from damage
    except OSError as error:
        raise SpeechIQError(name, f"cannot be read ({error.strerror})", "restore it or correct the path") from error


def _make_resampler(rate: int) -> Callable[..., np.ndarray]:
    """Return a function that resamples consecutive blocks to 16 kHz, to the same samples as all of it at once."""
    import soxr

    if rate == SAMPLING_RATE:
        return lambda block, last=False: block
    resample: Callable[..., np.ndarray] = soxr.ResampleStream(rate, SAMPLING_RATE, 1, dtype="float32").resample_chunk
    return resample


CLIPS = "clips"
ADVICE = "set SIQ_CACHE to a folder on another disk"
BLOCK = 1 << 20


def save_audio(audio: Path | bytes, name: str) -> dict[str, Any]:
    """Copy encoded audio, a file or its bytes, into the clip folder, once and unchanged.

    The audio is first decoded to its end, which finds files that are cut off; `name` is for errors.

    Returns:
        The items of a clip: `path` (below the cache folder), `sha256`, `sampling_rate`, `duration` (s), and `warnings`,
        reasons to check it.
    """
    found = inspect(audio, name)
    sha256 = hash_file(audio) if isinstance(audio, Path) else hashlib.sha256(audio).hexdigest()
    path = f"{CLIPS}/{sha256[:2]}/{sha256}.{found.kind}"
    if not cache_dir(path).is_file():
        content = _read_blocks(audio) if isinstance(audio, Path) else audio
        write_whole(cache_dir(path), content, ADVICE, make_folders=True)
    clip = {"path": path, "sha256": sha256, "sampling_rate": SAMPLING_RATE, "duration": found.duration}
    return clip | {"warnings": found.warnings}


def save_samples(samples: np.ndarray, name: str) -> dict[str, Any]:
    """Write samples (float32, mono, `SAMPLING_RATE`) into the clip folder, as 16-bit FLAC; see `save_audio`."""
    return save_audio(encode_audio([samples], "FLAC"), name)


def encode_audio(blocks: Iterable[np.ndarray], container: str) -> bytes:
    """Return audio (parts of float32, mono, 16 kHz) as the bytes of a file, `WAV` or `FLAC`, of 16 bits per sample."""
    import soundfile

    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", SAMPLING_RATE, channels=1, format=container, subtype="PCM_16") as sound:
        for block in blocks:
            sound.write(block)
    return file.getvalue()


def _read_blocks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        yield from iter(lambda: stream.read(BLOCK), b"")
