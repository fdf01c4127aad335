"""Split long audio into chunks at pauses of the speech; no more than one chunk is in memory."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from speechiq.core.clip import SAMPLING_RATE, Clip

SEARCHED_S, PAUSE_S, STEP_S = 2.0, 0.1, 0.01
#: Most seconds of a clip that an engine decodes and processes at a time, however much its model takes: memory does not
#: grow with longer clips.
SPAN_S = 300.0
#: More than the fastest speech has, in any tokens; a text that is longer is not a transcript.
TOKENS_PER_S = 25


def split_at_pauses(samples: np.ndarray, longest_s: float) -> list[tuple[int, int]]:
    """Return where to split `samples` into chunks of at most `longest_s` seconds.

    The number of chunks is the smallest that always suffices, and all are of about the same length, so that no short
    rest remains at the end. Each cut is the middle of the quietest `PAUSE_S` within `SEARCHED_S`. The chunks are
    `(start, stop)` in samples, and cover the audio (float32, 16 kHz) in order, without gaps and without overlap.

    >>> speech = np.ones(50 * SAMPLING_RATE, np.float32)
    >>> speech[24 * SAMPLING_RATE : 25 * SAMPLING_RATE] = 0
    >>> [(start / SAMPLING_RATE, stop / SAMPLING_RATE) for start, stop in split_at_pauses(speech, 30)]
    [(0.0, 24.95), (24.95, 50.0)]
    >>> split_at_pauses(speech, 60)
    [(0, 800000)]
    """
    cuts = [start + _find_pause(samples[start:stop]) for start, stop in _list_windows(len(samples), longest_s)]
    return list(pairwise([0, *cuts, len(samples)]))


def read_chunks(clip: Clip, longest_s: float) -> Iterator[np.ndarray]:
    """Yield the samples of a clip in the chunks of `split_at_pauses`, decoded one after the other.

    >>> from speechiq.core.clip import as_clip
    >>> speech = as_clip({"array": np.ones(50 * SAMPLING_RATE, np.float32), "sampling_rate": SAMPLING_RATE})
    >>> [len(chunk) / SAMPLING_RATE for chunk in read_chunks(speech, 30)]
    [25.0, 25.0]
    """
    blocks, left, done = clip.blocks(), np.empty(0, np.float32), 0
    for start, stop in _windows_of(clip, longest_s):
        left = _read_until(stop - done, left, blocks)
        cut = start - done + _find_pause(left[start - done : stop - done])
        yield left[:cut]
        left, done = left[cut:], done + cut
    yield np.concatenate([left, *blocks])


def list_chunks(clip: Clip, longest_s: float) -> list[Clip]:
    """Return the chunks of `read_chunks` as clips; a clip that is not longer than `longest_s` is not decoded."""
    if count_chunks(clip, longest_s) == 1:
        return [clip]
    lengths = [len(chunk) / SAMPLING_RATE for chunk in read_chunks(clip, longest_s)]
    return [clip.part(sum(lengths[:i]), length) for i, length in enumerate(lengths)]


def count_chunks(clip: Clip, longest_s: float) -> int:
    """Return the number of chunks of a clip, which depends on its length alone."""
    return 1 + len(_windows_of(clip, longest_s))


def _windows_of(clip: Clip, longest_s: float) -> list[tuple[int, int]]:
    fits = clip.duration <= longest_s
    return [] if fits else _list_windows(round(clip.duration * SAMPLING_RATE), longest_s)


def _list_windows(samples: int, longest_s: float) -> list[tuple[int, int]]:
    """Return `(start, stop)` of the windows in which cuts are searched, in samples."""
    longest = int(longest_s * SAMPLING_RATE)
    searched = min(int(SEARCHED_S * SAMPLING_RATE), longest // 4)
    divided = samples - searched
    count = max(1, -(-divided // (longest - searched)))
    starts = [i * divided // count for i in range(1, count)]
    return [(start, start + searched) for start in starts]


def _read_until(count: int, left: np.ndarray, blocks: Iterator[np.ndarray]) -> np.ndarray:
    """Return `left` with so many blocks after it that there are `count` samples, or all."""
    parts, present = [left], len(left)
    while present < count and (block := next(blocks, None)) is not None:
        parts.append(block)
        present += len(block)
    return np.concatenate(parts)


def _find_pause(samples: np.ndarray) -> int:
    """Return the middle of the quietest `PAUSE_S`; of several, the one nearest to the middle of `samples`."""
    step, pause = int(STEP_S * SAMPLING_RATE), round(PAUSE_S / STEP_S)
    blocks = samples[: len(samples) // step * step].reshape(-1, step).astype(np.float64)
    energy = np.convolve((blocks**2).sum(axis=1), np.ones(pause), mode="valid")
    off_center = np.abs(np.arange(len(energy)) - (len(energy) - 1) / 2)
    return int(np.lexsort((off_center, energy))[0] * step + pause * step // 2)
