"""A long clip in pieces that a model hears whole, parted where the speech pauses."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from speechiq.core.clip import SAMPLING_RATE

SEARCHED_S, PAUSE_S, STEP_S = 2.0, 0.1, 0.01


def split(samples: np.ndarray, longest_s: float) -> list[tuple[int, int]]:
    """Where to part `samples` so that no piece is longer than `longest_s`.

    As few pieces as always do, of about one length, so that no scrap remains at the end. Each cut is the middle
    of the quietest `PAUSE_S` within `SEARCHED_S`.

    Args:
        samples: float32, shape (samples,), 16 kHz.
        longest_s: seconds that a piece may last, 1 or more.

    Returns:
        `(start, stop)` of each piece, in samples: all of them, in order, none twice.

    >>> speech = np.ones(50 * SAMPLING_RATE, np.float32)
    >>> speech[24 * SAMPLING_RATE : 25 * SAMPLING_RATE] = 0
    >>> [(start / SAMPLING_RATE, stop / SAMPLING_RATE) for start, stop in split(speech, 30)]
    [(0.0, 24.95), (24.95, 50.0)]
    >>> split(speech, 60)
    [(0, 800000)]
    """
    longest = int(longest_s * SAMPLING_RATE)
    searched = min(int(SEARCHED_S * SAMPLING_RATE), longest // 4)
    to_part = len(samples) - searched
    pieces = max(1, -(-to_part // (longest - searched)))
    starts = [i * to_part // pieces for i in range(1, pieces)]
    cuts = [start + _pause(samples[start : start + searched]) for start in starts]
    return list(pairwise([0, *cuts, len(samples)]))


def _pause(samples: np.ndarray) -> int:
    """The middle of the quietest `PAUSE_S`, of several the one nearest to the middle."""
    step, pause = int(STEP_S * SAMPLING_RATE), round(PAUSE_S / STEP_S)
    blocks = samples[: len(samples) // step * step].reshape(-1, step).astype(np.float64)
    energy = np.convolve((blocks**2).sum(axis=1), np.ones(pause), mode="valid")
    off_centre = np.abs(np.arange(len(energy)) - (len(energy) - 1) / 2)
    return int(np.lexsort((off_centre, energy))[0] * step + pause * step // 2)
