"""Add noise to a clip at a given signal-to-noise ratio: made noise, or recordings."""

from typing import Literal

import msgspec
import numpy as np

from speechiq.core.recordings.audio_file import RATE, AudioFile, decode
from speechiq.core.transforms.base import Transform, as_ratio, measure_rms

MAINS_HZ, HARMONICS = 50.0, 20
#: Pink noise has no energy below this frequency, so that its loudness does not depend on the length of the clip.
LOWEST_HZ = 20.0


def add_at(samples: np.ndarray, noise: np.ndarray, snr_db: float) -> np.ndarray:
    """Return a sound with noise of its length, at a ratio of their powers; if one is silent, nothing changes."""
    signal, level = measure_rms(samples), measure_rms(noise)
    if not signal or not level:
        return samples
    return (samples + noise * (signal / level / as_ratio(snr_db))).astype(np.float32)


class Noise(Transform, frozen=True, tag="noise"):
    """Add noise that is made from a seed; `snr_db` is power of the clip / power of the noise, dB.

    It is `white` (equal power per Hz), `pink` (equal power per octave) or `hum` (mains of 50 Hz with harmonics).
    """

    color: Literal["white", "pink", "hum"]
    snr_db: float
    seed: int

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Add the noise; see `Transform.apply`."""
        make = {"white": _make_white, "pink": _make_pink, "hum": _make_hum}[self.color]
        return add_at(samples, make(len(samples), np.random.default_rng(self.seed)), self.snr_db)


def _make_white(length: int, generator: np.random.Generator) -> np.ndarray:
    return generator.standard_normal(length)


def _make_pink(length: int, generator: np.random.Generator) -> np.ndarray:
    from scipy.fft import irfft, next_fast_len, rfft, rfftfreq

    padded = next_fast_len(length, real=True)
    spectrum = rfft(generator.standard_normal(padded))
    frequencies = rfftfreq(padded, 1 / RATE)
    gains = np.where(frequencies >= LOWEST_HZ, 1 / np.sqrt(np.maximum(frequencies, LOWEST_HZ)), 0.0)
    pink: np.ndarray = irfft(spectrum * gains, padded)[:length]
    return pink


def _make_hum(length: int, generator: np.random.Generator) -> np.ndarray:
    time = np.arange(length) / RATE
    phases = generator.uniform(0, 2 * np.pi, HARMONICS)
    numbers = np.arange(1, HARMONICS + 1)
    parts = (np.sin(2 * np.pi * MAINS_HZ * n * time + phase) / n for n, phase in zip(numbers, phases, strict=True))
    return np.asarray(sum(parts))


class Span(msgspec.Struct, frozen=True):
    """Hold a span of a stored recording, `offset` and `duration` in s; see `recordings.audio_file.AudioFile`."""

    path: str
    sha256: str
    offset: float
    duration: float


class Recordings(Transform, frozen=True, tag="recordings"):
    """Add recordings: one as background noise, several as babble.

    Each is repeated to the length of the clip, from a place that the seed chooses; several are mixed at equal power.
    `snr_db` is power of the clip / power of the mixture, dB.
    """

    spans: tuple[Span, ...]
    snr_db: float
    seed: int

    @property
    def key(self) -> str:
        """Return the record without the places of files; see `Transform.key`."""
        contents = [[span.sha256, span.offset, span.duration] for span in self.spans]
        return f"recordings{msgspec.json.encode([contents, self.snr_db, self.seed]).decode()}"

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Add the recordings; see `Transform.apply`."""
        generator = np.random.default_rng(self.seed)
        mixture = np.zeros(len(samples))
        for span in self.spans:
            recording = decode(AudioFile(span.path, span.sha256).file, span.offset, span.duration)
            start = int(generator.integers(max(len(recording), 1)))
            if level := measure_rms(recording):
                mixture += np.resize(np.roll(recording, -start), len(samples)) / level
        return add_at(samples, mixture, self.snr_db)
