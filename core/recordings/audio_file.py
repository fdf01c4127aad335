"""Check that audio files are complete and may contain speech, decode spans of them, and fill the clip folder."""

import hashlib
import io
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.errors import RowError, SpeechIQError
from speechiq.core.files.folders import cache_dir
from speechiq.core.files.plain import hash_file, write_whole
from speechiq.core.recordings.readers import Damage, Reader, open_reader

log = logging.getLogger(__name__)
#: By which the rows of data sets that have such audio are counted.
UNREADABLE = "audio that cannot be read"
FIX = "replace the file or leave the clip out"
#: Full scale is 1. Lossy codings exceed it a little; what exceeds the second was an integer before it became a float.
LOUD, LOUDEST = 1.5, 8.0
TOO_LOUD = f"its peak is above {LOUD} times full scale, so endpoints get clipped samples"
#: Seconds by which a file may be shorter than its header promises, a few frames of padding; at most the half of it.
PADDING_S = 0.25
RATES = (1_000, 1_000_000)
SHORTEST_S = 0.1
#: Half a step of 16 bits; a lower peak is digital silence.
SILENCE = 2.0**-16
_WARNING = Lock()
#: Peak below which speech is a few steps of 16 bits: -60 dB of full scale.
QUIET = 1e-3
#: Share of samples that are at least `LEVEL` of the peak, from which on a sound counts as clipped; speech has 0.01 %.
CLIPPED, LEVEL = 0.02, 1 - 1e-4
#: Lowest peak of a sound that may count as clipped: with less, many samples of any sound have one value.
HALF_LOUD = 0.1
#: Share of the energy that a constant (DC) may have.
CONSTANT = 0.5
#: Share of the channels' energy that must be left in their mean.
LEFT_OVER = 1e-4
#: Samples that are inspected at a time.
INSPECTED = 65_536
#: Sampling rate of all clips, Hz.
SAMPLING_RATE = 16_000
#: Seconds by which a listed clip may end after its file, as lengths are rounded in lists.
TOLERANCE_S = 0.1
PACKAGE = Path(__file__).parents[2] / "siq_tasks"
#: Seconds of a file that are decoded at a time.
BLOCK_S = 10


class Inspected(NamedTuple):
    """Hold a file that was read to its end: its kind (`wav`), the seconds of its samples, reasons to listen to it."""

    kind: str
    duration: float
    warnings: list[str]


def inspect(source: Path | bytes, name: str) -> Inspected:
    """Read an audio file to its end, block by block, or refuse it; `name` is that of the file or row, for errors."""
    with _refusing(name), open_reader(source) as reader:
        return _read_to_the_end(reader)


def read_length(source: Path | bytes, name: str) -> float:
    """Return the seconds of audio that a file's header gives; without a header, those of the file read to its end."""
    with _refusing(name), open_reader(source) as reader:
        promised = reader.promised
    return inspect(source, name).duration if promised is None else promised


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    try:
        yield
    except Damage as damage:
        raise RowError(UNREADABLE, damage, FIX, name) from damage
    except OSError as error:
        fault = f"{error.filename or 'the file'}: {error.strerror}"
        raise RowError(UNREADABLE, fault, FIX, name) from error


def _read_to_the_end(reader: Reader) -> Inspected:
    if not RATES[0] <= reader.rate <= RATES[1]:
        raise Damage(f"a sampling rate of {reader.rate} Hz; it must be between {RATES[0]} and {RATES[1]}")
    frames, peak, at_peak, total, energy, mean_energy = 0, 0.0, 0, 0.0, 0.0, 0.0
    while len(block := reader.read(INSPECTED)):
        block_peak = measure_peak(block)
        if block_peak * LEVEL > peak:
            at_peak = 0
        peak = max(peak, block_peak)
        at_peak += int(np.count_nonzero(np.abs(block).max(axis=1) >= peak * LEVEL))
        mono = block.mean(axis=1, dtype=np.float64)
        energy += float(np.square(block, dtype=np.float64).sum()) / block.shape[1]
        mean_energy += float(np.square(mono).sum())
        total += float(mono.sum())
        frames += len(block)
    if not frames:
        raise Damage("it has no samples")
    seconds = frames / reader.rate
    promised = max(reader.promised or 0.0, reader.spanned)
    if seconds + min(PADDING_S, promised / 2) < promised:
        raise Damage(f"cut off or damaged: it promises {promised:.2f} s, and {seconds:.2f} s can be decoded")
    is_short = seconds < SHORTEST_S
    is_constant = total**2 > CONSTANT * mean_energy * frames and not is_short
    is_clipped = at_peak >= CLIPPED * frames and peak >= HALF_LOUD and not is_short
    warnings = {
        f"it is shorter than {SHORTEST_S} s": is_short,
        "it is digital silence": peak < SILENCE,
        "it is very quiet: its peak is below -60 dB of full scale": SILENCE <= peak < QUIET,
        f"it is clipped: {100 * CLIPPED:g} % of its samples or more are at its peak": is_clipped,
        "more than half of its energy is a constant offset (DC)": is_constant,
        TOO_LOUD: peak > LOUD,
        "its channels cancel each other in their mean, which is what systems receive": mean_energy < LEFT_OVER * energy,
    }
    found = [warning for warning, applies in warnings.items() if applies]
    if reader.warning:
        found.insert(0, reader.warning)
    return Inspected(reader.kind, seconds, found)


def measure_peak(samples: np.ndarray) -> float:
    """Return the largest magnitude of samples; raise `Damage` if it is NaN, infinite or far beyond full scale."""
    peak = float(np.abs(samples).max(initial=0.0))
    if not peak <= LOUDEST:
        raise Damage(
            f"it has a sample of {peak:g}, but full scale is 1 and no sample may exceed {LOUDEST:g}; divide integers "
            f"by their own full scale (32768 for 16 bits) before they are stored as floats"
        )
    return peak


def warn_once(name: str, warning: str) -> None:
    """Log a warning about the audio of a source, such as an endpoint, for the first sound that has it.

    Replies are read by several threads at once, so the first of them holds the others back until it has logged.
    """
    with _WARNING:
        _warn(name, warning)


@cache
def _warn(name: str, warning: str) -> None:
    log.warning("%s: a sound of it is doubtful: %s (logged once)", name, warning)


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
        """Return the path, the name in messages."""
        return self.path

    @property
    def file(self) -> Path:
        """Return the path on this machine."""
        root = cache_dir() if self.path.startswith("clips/") else PACKAGE
        return root / self.path

    def blocks(self, offset: float, length: float) -> Iterator[np.ndarray]:
        """Return `length` (s) of audio from `offset` (s) on in consecutive arrays, none of which grows with `length`.

        They are float32, shape (samples,), mono, 16 kHz.
        """
        return decode_blocks(self.file, offset, length)

    def check(self) -> None:
        """Refuse a file that is missing, or differs from the listed one.

        Files of the package and in the clip folder were decoded to their ends when they were put there, so that their
        sha256 is enough.
        """
        try:
            found = file_sha256(self.file)
        except OSError as error:
            raise SpeechIQError(self.file, "no such audio file", "restore it or correct the path") from error
        if found != self.sha256:
            raise SpeechIQError(
                self.file,
                f"its sha256 is not {self.sha256[:12]}..., the file has changed since the clip was listed",
                "restore it or list it again",
            )


def file_sha256(file: Path) -> str:
    """Return the sha256 of a file, which is read again only if it has changed since the last time."""
    state = file.stat()
    return _hash(file, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=65_536)
def _hash(file: Path, size: int, changed: int) -> str:
    return hash_file(file)


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
#: What to do if no clip can be written.
OTHER_DISK = "set SIQ_CACHE to a folder on another disk"
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
        write_whole(cache_dir(path), content, OTHER_DISK, make_folders=True)
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
