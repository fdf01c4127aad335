"""Give a statistic of items its 95 % interval, from draws of their clips."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from speechiq.reducer.scores.draws import count_clips
from speechiq.reducer.stats.interval import CONFIDENCE

#: Cells of the largest array of counts that a statistic gets.
PART_CELLS = 2**18


class Estimate(NamedTuple):
    """A statistic with the ends of its interval; NaN for a value that is not defined."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> dict[str, float | None]:
        """Return the numbers as plain data; None for NaN."""
        return {name: None if math.isnan(of) else of for name, of in self._asdict().items()}


#: A statistic that is not defined.
UNDEFINED = Estimate(math.nan, math.nan, math.nan)


def over_clips(
    statistic: Callable[[np.ndarray], np.ndarray], clips: Sequence[str], *, draws: int, seed: int = 0
) -> Estimate:
    """Return a statistic and its percentile interval: all items of a clip are drawn together.

    Args:
        statistic: From how often each item counts, shape (draws, items), to its values, shape (draws,).
        clips: The clip of each item.
        draws: Number of draws; 0 leaves the interval out (NaN).
        seed: Equal seeds give equal draws.

    >>> over_clips(lambda counts: counts @ np.array([0.0, 1.0]) / counts.sum(axis=1), ["a", "b"], draws=100)
    Estimate(value=0.5, low=0.0, high=1.0)
    """
    if not clips:
        return UNDEFINED
    names, place = np.unique(np.asarray(clips), return_inverse=True)
    value = float(statistic(np.ones((1, len(place))))[0])
    found = [
        statistic(part[part[:, place].any(axis=1)][:, place])
        for counts in count_clips(len(names), draws, seed)
        for part in np.array_split(counts, math.ceil(len(counts) * len(place) / PART_CELLS))
    ]
    drawn = np.concatenate([*found, np.empty(0)])
    drawn = drawn[~np.isnan(drawn)]
    if math.isnan(value) or len(names) < 2 or not len(drawn):
        return Estimate(value, math.nan, math.nan)
    low, high = np.percentile(drawn, [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)]).tolist()
    return Estimate(value, min(low, value), max(high, value))
