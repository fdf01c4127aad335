"""Read an audio file to its end once: check that it is complete, measure it, and check that it can contain speech."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from speechiq.core.errors import RowError, SpeechIQError
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
#: Samples that are in memory at the same time.
BLOCK = 65_536


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
    while len(block := reader.read(BLOCK)):
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


@cache
def warn_once(name: str, warning: str) -> None:
    """Log a warning about the audio of a source, such as an endpoint, for the first sound that has it."""
    log.warning("%s: a sound of it is doubtful: %s (logged once)", name, warning)


def measure_seconds(file: Path) -> float:
    """Return the seconds of audio in a file, which is read to its end unless it has not changed since the last time."""
    try:
        state = file.stat()
    except OSError as error:
        raise SpeechIQError(file, "no such audio file", "restore it or correct the path") from error
    return _measure(file, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=65_536)
def _measure(file: Path, size: int, changed: int) -> float:
    return inspect(file, str(file)).duration
