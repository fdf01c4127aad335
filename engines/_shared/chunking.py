"""Split long audio into chunks at pauses of the speech."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from speechiq.core.clip import SAMPLING_RATE

SEARCHED_S, PAUSE_S, STEP_S = 2.0, 0.1, 0.01


def split(samples: np.ndarray, longest_s: float) -> list[tuple[int, int]]:
    """Return where to split `samples` into chunks of at most `longest_s` seconds.

    The number of chunks is the smallest that always suffices, and all are of about the same length, so that no short
    rest remains at the end. Each cut is the middle of the quietest `PAUSE_S` within `SEARCHED_S`.

    Args:
        samples: float32, shape (samples,), 16 kHz.
        longest_s: most seconds of a chunk, 1 or more.

    Returns:
        `(start, stop)` of each chunk, in samples: they cover the audio in order, without gaps and without overlap.

    >>> speech = np.ones(50 * SAMPLING_RATE, np.float32)
    >>> speech[24 * SAMPLING_RATE : 25 * SAMPLING_RATE] = 0
    >>> [(start / SAMPLING_RATE, stop / SAMPLING_RATE) for start, stop in split(speech, 30)]
    [(0.0, 24.95), (24.95, 50.0)]
    >>> split(speech, 60)
    [(0, 800000)]
    """
    longest = int(longest_s * SAMPLING_RATE)
    searched = min(int(SEARCHED_S * SAMPLING_RATE), longest // 4)
    divided = len(samples) - searched
    count = max(1, -(-divided // (longest - searched)))
    starts = [i * divided // count for i in range(1, count)]
    cuts = [start + _find_pause(samples[start : start + searched]) for start in starts]
    return list(pairwise([0, *cuts, len(samples)]))


def _find_pause(samples: np.ndarray) -> int:
    """Return the middle of the quietest `PAUSE_S`; of several, the one nearest to the middle of `samples`."""
    step, pause = int(STEP_S * SAMPLING_RATE), round(PAUSE_S / STEP_S)
    blocks = samples[: len(samples) // step * step].reshape(-1, step).astype(np.float64)
    energy = np.convolve((blocks**2).sum(axis=1), np.ones(pause), mode="valid")
    off_center = np.abs(np.arange(len(energy)) - (len(energy) - 1) / 2)
    return int(np.lexsort((off_center, energy))[0] * step + pause * step // 2)
