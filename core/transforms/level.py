"""Change the level or the speed of a clip."""

from __future__ import annotations

import numpy as np

from speechiq.core.transforms.base import RATE, Transform, as_ratio


class Gain(Transform, frozen=True, tag="gain"):
    """Change the level by `decibels`: level after the change / level before it."""

    decibels: float

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Scale the sound; see `Transform.apply`."""
        return (samples * as_ratio(self.decibels)).astype(np.float32)


class Clipping(Transform, frozen=True, tag="clipping"):
    """Cut off the peaks `decibels` below the highest one, as an input that is set too high does."""

    decibels: float

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Limit the sound; see `Transform.apply`."""
        limit = float(np.max(np.abs(samples), initial=0.0)) / as_ratio(self.decibels)
        return np.clip(samples, -limit, limit).astype(np.float32)


class Speed(Transform, frozen=True, tag="speed"):
    """Speak faster or slower at the same pitch (librosa's phase vocoder), by a `factor` of speed after / before."""

    factor: float

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Stretch the sound; see `Transform.apply`."""
        import librosa

        wanted = round(self.duration(len(samples) / RATE) * RATE)
        if not samples.size:
            return samples
        stretched = librosa.effects.time_stretch(samples, rate=self.factor)[:wanted]
        return np.pad(stretched, (0, wanted - len(stretched))).astype(np.float32)

    def duration(self, seconds: float) -> float:
        """Return the seconds of the stretched sound; see `Transform.duration`."""
        return seconds / self.factor
