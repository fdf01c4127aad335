"""Compare two systems on several metrics at once (coupled bootstrap, section 2.2 of the LLMSemDist paper).

All metrics share each draw of clips. A system is better only if the intervals of all metrics exclude 0 in its favor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.scores.draws import count_clips

INTERVAL = [2.5, 97.5]
FEWEST_DRAWS = 40


class Paired(NamedTuple):
    """A metric of two systems on the same clips.

    Attributes:
        a, b: Values of each clip, shape (clips,); NaN if undefined.
        weights: Weight of each clip in the mean: 1, or the length of its reference if errors are pooled.
        sign: 1 if a higher value is better, -1 if a lower one is.
        pooled: Whether errors are pooled over clips.
    """

    a: np.ndarray
    b: np.ndarray
    weights: np.ndarray
    sign: float
    pooled: bool


class Difference(NamedTuple):
    """A metric of two systems and its difference.

    Attributes:
        metric: Name of the metric.
        direction: Which values are better.
        pooled: Whether errors are pooled over clips; else the mean over clips is compared.
        clips: Number of clips on which it is defined for both systems.
        a, b: The metric of each system on these.
        difference: a minus b.
        low, high: 95 % interval of the difference, by the percentiles of the draws.
        side: 1 if the interval excludes 0 in favor of a, -1 in favor of b, 0 if it includes 0.
    """

    metric: str
    direction: Literal["higher", "lower"]
    pooled: bool
    clips: int
    a: float
    b: float
    difference: float
    low: float
    high: float
    side: int


class Coupled(NamedTuple):
    """A coupled comparison.

    Attributes:
        a, b: Names of the systems.
        clips: Number of clips that both ran.
        draws: Number of draws of clips.
        seed: Of the draws.
        differences: One per metric.
    """

    a: str
    b: str
    clips: int
    draws: int
    seed: int
    differences: list[Difference]

    @property
    def better(self) -> str | None:
        """Return the system that all intervals favor; None if they do not agree on one."""
        winner: dict[tuple[int, ...], str] = {(1,): self.a, (-1,): self.b}
        return winner.get(tuple({of.side for of in self.differences}))


def compare(a: str, b: str, metrics: Mapping[str, Paired], draws: int = 1000, seed: int = 0) -> Coupled:
    """Compare two systems on the same draws for all metrics.

    Args:
        a: Name of system A.
        b: Name of system B.
        metrics: Metric -> its values; all have the same clips.
        draws: Number of draws, at least `FEWEST_DRAWS`.
        seed: Equal seeds give equal draws.

    Raises:
        SpeechIQError: Too few draws or clips, or a metric is undefined on most draws.

    >>> values = Paired(np.array([0.5, 0.25]), np.array([0.25, 0.0]), np.ones(2), -1.0, False)
    >>> found = compare("a", "b", {"distance": values})
    >>> found.differences[0].difference, found.better
    (0.25, 'b')
    """
    if draws < FEWEST_DRAWS:
        raise SpeechIQError(f"{draws} draws are too few for a 95 % interval: give at least {FEWEST_DRAWS}")
    clips = len(next(iter(metrics.values())).a)
    if clips < 2:
        raise SpeechIQError("the two systems share fewer than two clips, which have no interval: run the same tasks")
    parts = {name: _parts(of) for name, of in metrics.items()}
    drawn: dict[str, list[np.ndarray]] = {name: [] for name in metrics}
    for counts in count_clips(clips, draws, seed):
        for name, (sums, weights) in parts.items():
            gap, weight = counts @ (sums[0] - sums[1]), counts @ weights
            drawn[name].append(np.divide(gap, weight, out=np.full(len(counts), np.nan), where=weight > 0))
    found = []
    for name, (sums, weights) in parts.items():
        values = np.concatenate(drawn[name])
        values = values[~np.isnan(values)]
        if len(values) < draws / 2:
            raise SpeechIQError(f"{name}: defined on {int((weights > 0).sum())} of {clips} clips, too few to compare")
        low, high = np.percentile(values, INTERVAL).tolist()
        one, other = (sums.sum(axis=1) / weights.sum()).tolist()
        sign, pooled = int(metrics[name].sign), metrics[name].pooled
        found.append(
            Difference(
                metric=name,
                direction="higher" if sign > 0 else "lower",
                pooled=pooled,
                clips=int((weights > 0).sum()),
                a=one,
                b=other,
                difference=one - other,
                low=low,
                high=high,
                side=sign * (int(low > 0) - int(high < 0)),
            )
        )
    return Coupled(a, b, clips, draws, seed, found)


def _parts(of: Paired) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted values of both systems, shape (2, clips), and the weights; both 0 on an undefined clip."""
    both = np.array([of.a, of.b])
    defined = ~np.isnan(both).any(axis=0)
    weights = np.where(defined, of.weights, 0.0)
    return np.where(defined, both, 0.0) * weights, weights
