"""Turn what a model or a program speaks into a clip, and texts into what it can speak."""

import hashlib
import logging
from collections.abc import Callable

import numpy as np
import soxr

from speechiq.core.clip import SAMPLING_RATE, Clip, Samples
from speechiq.core.usage import usage

#: Seconds of the longest speech; what is spoken later is cut off.
LONGEST_S = 600.0
#: Seconds of silence that stand for speech without a sample, because no audio file is empty.
SHORTEST_S = 0.1
#: Steps of 16-bit audio on each side of 0.
STEPS = 2.0**15

log = logging.getLogger(__name__)


def as_speech(samples: np.ndarray, rate: int, name: str) -> Clip:
    """Return what was spoken as a clip in memory, in the values that 16-bit audio has, so that a file loses nothing.

    Samples that are not finite become 0, and speech without samples becomes silence: both are results of a system, not
    faults of a run. `samples` are float, shape (samples,) or (channels, samples); full scale is 1, louder samples are
    clipped. `rate` is in Hz, and `name`, that of the model, is for the warning about speech longer than `LONGEST_S`.

    >>> as_speech(np.array([[0.5, 0.5, float("nan")]]), 16_000, "a").samples
    array([0.5, 0.5, 0. ], dtype=float32)
    """
    finite = np.nan_to_num(np.asarray(samples, dtype=np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    mono = np.atleast_2d(finite).mean(axis=0)
    if len(mono) > LONGEST_S * rate:
        log.warning("%s: spoke %.0f s; what comes after %g s is cut off", name, len(mono) / rate, LONGEST_S)
    mono = mono[: round(LONGEST_S * rate)]
    if rate != SAMPLING_RATE:
        mono = soxr.resample(mono, rate, SAMPLING_RATE, "VHQ")
    if not mono.size:
        mono = np.zeros(round(SHORTEST_S * SAMPLING_RATE), dtype=np.float32)
    array = (np.clip(np.round(mono * STEPS), -STEPS, STEPS - 1) / STEPS).astype(np.float32)
    return Clip(Samples(hashlib.sha256(array.tobytes()).hexdigest(), array), 0.0, len(array) / SAMPLING_RATE)


def as_line(text: str) -> str:
    r"""Return a text as one line without control characters, which programs would take as commands or as its end.

    >>> as_line("One\ntwo\x1b three\u200b.")
    'One two three.'
    """
    return "".join(char for char in " ".join(text.split()) if char.isprintable())


def speak_line(text: str, speak: Callable[[str], Clip]) -> Clip:
    """Return a text as `speak` speaks it, or silence for a text without a letter or a digit."""
    line = as_line(text)
    usage["spoken_texts"] += 1
    has_words = any(char.isalnum() for char in line)
    return speak(line) if has_words else as_speech(np.zeros(0), SAMPLING_RATE, "")
