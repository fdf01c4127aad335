"""Split long audio into chunks at pauses of the speech; no more than one chunk is in memory."""

import math
from collections.abc import Iterator

import numpy as np

from speechiq.core.clip import SAMPLING_RATE, Clip

SEARCHED_S, PAUSE_S, STEP_S = 2.0, 0.1, 0.01
#: Most seconds of a clip that an engine decodes and processes at a time, however much its model takes: memory does not
#: grow with longer clips.
SPAN_S = 300.0
#: More than the fastest speech has, in any tokens; a text that is longer is not a transcript.
TOKENS_PER_S = 25


def split_at_pauses(blocks: Iterator[np.ndarray], seconds: float, longest_s: float) -> Iterator[np.ndarray]:
    """Yield audio of so many seconds, given in consecutive arrays, in chunks of at most `longest_s` seconds.

    The number of chunks is the smallest that always suffices, and all are of about the same length, so that no short
    rest remains at the end. Each cut is the middle of the quietest `PAUSE_S` within `SEARCHED_S`. The chunks (float32,
    16 kHz) cover the audio in order, without gaps and without overlap.

    >>> speech = np.ones(50 * SAMPLING_RATE, np.float32)
    >>> speech[24 * SAMPLING_RATE : 25 * SAMPLING_RATE] = 0
    >>> [len(chunk) / SAMPLING_RATE for chunk in split_at_pauses(iter([speech]), 50.0, 30.0)]
    [24.95, 25.05]
    """
    left, done = next(blocks, np.empty(0, np.float32)), 0
    for start, stop in _list_windows(seconds, longest_s):
        left = _read_until(stop - done, left, blocks)
        cut = start - done + _find_pause(left[start - done : stop - done])
        yield left[:cut]
        left, done = left[cut:], done + cut
    yield _read_until(math.inf, left, blocks)


def read_chunks(clip: Clip, longest_s: float) -> Iterator[np.ndarray]:
    """Yield the samples of a clip in the chunks of `split_at_pauses`, decoded one after the other."""
    return split_at_pauses(clip.blocks(), clip.duration, longest_s)


def list_chunks(clip: Clip, longest_s: float) -> list[Clip]:
    """Return the chunks of `read_chunks` as clips; a clip that is not longer than `longest_s` is not decoded."""
    if count_chunks(clip, longest_s) == 1:
        return [clip]
    lengths = [len(chunk) / SAMPLING_RATE for chunk in read_chunks(clip, longest_s)]
    return [clip.part(sum(lengths[:i]), length) for i, length in enumerate(lengths)]


def count_chunks(clip: Clip, longest_s: float) -> int:
    """Return the number of chunks of a clip, which depends on its length alone."""
    return 1 + len(_list_windows(clip.duration, longest_s))


def _list_windows(seconds: float, longest_s: float) -> list[tuple[int, int]]:
    """Return `(start, stop)` of the windows in which cuts are searched, in samples."""
    if seconds <= longest_s:
        return []
    longest = int(longest_s * SAMPLING_RATE)
    searched = min(int(SEARCHED_S * SAMPLING_RATE), longest // 4)
    divided = round(seconds * SAMPLING_RATE) - searched
    count = -(-divided // (longest - searched))
    starts = [i * divided // count for i in range(1, count)]
    return [(start, start + searched) for start in starts]


def _read_until(count: float, left: np.ndarray, blocks: Iterator[np.ndarray]) -> np.ndarray:
    """Return `left` with so many blocks after it that there are `count` samples, or all."""
    parts, present = [left], len(left)
    while present < count and (block := next(blocks, None)) is not None:
        parts.append(block)
        present += len(block)
    return np.concatenate(parts) if parts[1:] else left


def _find_pause(samples: np.ndarray) -> int:
    """Return the middle of the quietest `PAUSE_S`; of several, the one nearest to the middle of `samples`."""
    step, pause = int(STEP_S * SAMPLING_RATE), round(PAUSE_S / STEP_S)
    blocks = samples[: len(samples) // step * step].reshape(-1, step).astype(np.float64)
    energy = np.convolve((blocks**2).sum(axis=1), np.ones(pause), mode="valid")
    off_center = np.abs(np.arange(len(energy)) - (len(energy) - 1) / 2)
    return int(np.lexsort((off_center, energy))[0] * step + pause * step // 2)
