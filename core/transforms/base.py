"""Define what transforms of a clip have in common."""

import msgspec
import numpy as np


class Transform(msgspec.Struct, frozen=True, tag_field="kind", tag=str.lower):
    """Hold a change of the decoded sound, such as added noise: a frozen, hashable record."""

    @property
    def key(self) -> str:
        """Return everything on which the changed sound depends, in addition to the sound before: the record as JSON."""
        return msgspec.json.encode(self, order="sorted").decode()

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Return `samples` changed; both are float32, shape (samples,), mono, 16 kHz."""
        raise NotImplementedError

    def duration(self, seconds: float) -> float:
        """Return the seconds of a sound of `seconds` after the change; most changes keep the length."""
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
