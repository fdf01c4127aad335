"""Define what transforms of a clip have in common."""

from __future__ import annotations

import msgspec
import numpy as np

#: Sampling rate of all clips, Hz; `speechiq.core.clip` has it as `SAMPLING_RATE`.
RATE = 16_000


class SoundTransform(msgspec.Struct, frozen=True, tag_field="kind", tag=str.lower):
    """Define the base of transforms; each is a `Transform` of `speechiq.core.clip`."""

    @property
    def key(self) -> str:
        """Return the record as JSON, on which the changed sound depends; see `Transform.key`."""
        return msgspec.json.encode(self, order="sorted").decode()

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Return the samples changed; see `Transform.apply`."""
        raise NotImplementedError

    def duration(self, seconds: float) -> float:
        """Return the seconds after the change; most changes keep the length."""
        return seconds


def measure_rms(samples: np.ndarray) -> float:
    """Return the root mean square of samples; 0 for none.

    >>> measure_rms(np.array([3.0, -4.0, 0.0, 0.0], np.float32))
    2.5
    """
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))) if samples.size else 0.0


def as_ratio(decibels: float) -> float:
    """Return the ratio of amplitudes of a level in dB.

    >>> as_ratio(20), round(as_ratio(-6), 3)
    (10.0, 0.501)
    """
    return float(10.0 ** (decibels / 20))
