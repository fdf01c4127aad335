"""Compute the 95 % interval of a score from draws around a center; it always includes the score."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """Hold the ends of a 95 % interval, each of shape (systems,)."""

    low: np.ndarray
    high: np.ndarray


class StudentizedDraws(NamedTuple):
    """Hold draws around a center.

    Attributes:
        score: The reported score, shape (systems,).
        center: Middle of the interval, shape (systems,); the score with the loss of `shrinkage` undone.
        draws: Shape (draws, systems).
        lowest: Lowest possible score.
        highest: Highest possible score.
    """

    score: np.ndarray
    center: np.ndarray
    draws: np.ndarray
    lowest: float = -np.inf
    highest: float = np.inf

    @property
    def interval(self) -> Interval:
        """Return the interval around the center that includes 95 % of the draws, widened to include the score.

        >>> StudentizedDraws(np.array([0.0]), np.array([0.0]), np.linspace(-1, 1, 201)[:, None]).interval
        Interval(low=array([-0.95]), high=array([0.95]))
        """
        half = np.percentile(np.abs(self.draws - self.center), 100 * CONFIDENCE, axis=0)
        low, high = (np.clip(end, self.lowest, self.highest) for end in (self.center - half, self.center + half))
        return Interval(np.minimum(low, self.score), np.maximum(high, self.score))

    def difference(self, one: int, other: int) -> StudentizedDraws:
        """Return the cloud of one system's score minus another's, as that of a single system."""
        parts = (self.score, self.center, self.draws)
        score, center, draws = (values[..., [one]] - values[..., [other]] for values in parts)
        return StudentizedDraws(score, center, draws, self.lowest - self.highest, self.highest - self.lowest)


def shrinkage(score: np.ndarray, draws: np.ndarray) -> tuple[float, float]:
    """Return how much chance pulls Z towards 0, in the pool and in draws from it: two factors above 0 and at most 1.

    The standard deviation that eq. 5 divides by includes the noise of the clips, so that Z of few clips is nearer
    to 0 than Z of many. Draws show how much: with r the mean product of a draw's Z and the pool's, noise is
    1 / r^2 - 1 of the pool's variance between systems, and the pool itself keeps the root of 1 minus that.

    Args:
        score: Z of the pool, shape (systems,).
        draws: Z of each draw, shape (draws, systems).

    >>> shrinkage(np.array([-1.0, 1.0]), np.array([[-1.0, 1.0], [-1.0, 1.0]]))
    (1.0, 1.0)
    """
    kept = max(float((draws @ score).mean()) / len(score), 0.1)
    pool = float(np.sqrt(max(2 - 1 / kept**2, 0.2)))
    return min(pool, 1.0), min(pool * kept, 1.0)
