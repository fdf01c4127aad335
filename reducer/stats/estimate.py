"""Hold numbers with an error: estimates with their 95 % intervals, differences of scores, and draws for intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

#: Differences are rounded to so many decimals: what is smaller is rounding of the computation.
DECIMALS = 9
ROUNDING = 10.0**-DECIMALS
CONFIDENCE = 0.95
#: Clips from which on the intervals of means, and of SIQ, are not too narrow.
ENOUGH, ENOUGH_FOR_SIQ = 50, 100


class Estimate(NamedTuple):
    """Hold a number with the ends of its 95 % interval; NaN for what is not defined.

    Attributes:
        low, high: Ends of the interval, which includes the number.
        n: Number of items that it comes from.
        clusters: Number of independent units of these items, such as clips.
        draws: Number of draws on which it is defined; 0 for an interval without draws.
        clips: Number of clips; above that of clusters if clips share one.
        enough: Number of clips from which on its interval is not too narrow; 0 if it never is.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    clusters: int = 0
    draws: int = 0
    clips: int = 0
    enough: int = 0

    @property
    def ends(self) -> tuple[float, float]:
        """Return both ends of the interval."""
        return self.low, self.high

    def map(self, factor: float, shift: float = 0.0) -> Estimate:
        """Return the estimate in another unit: times a factor, plus a shift.

        >>> Estimate(0.5, 0.25, 1.0).map(-100.0).ends
        (-100.0, -25.0)
        """
        value, *ends = (factor * number + shift for number in self[:3])
        return self._replace(value=value, low=min(ends), high=max(ends))


#: A number that is not defined.
UNDEFINED = Estimate(math.nan)


class Difference(NamedTuple):
    """Hold the score of A minus that of B.

    Attributes:
        low, high: Ends of the difference's 95 % interval; NaN without draws.
        p: Two-sided p value; NaN without a test.
        clusters, clips, enough: What the interval rests on (`Estimate`).
    """

    a: float
    b: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    clusters: int = 0
    clips: int = 0
    enough: int = 0

    @property
    def value(self) -> float:
        """Return the difference."""
        return round(self.a - self.b, DECIMALS) + 0.0

    @property
    def side(self) -> int:
        """Return 1 if the interval is above 0, -1 if it is below, and 0 if it includes 0."""
        return int(self.low > 0) - int(self.high < 0)

    @property
    def estimate(self) -> Estimate:
        """Return the difference with its interval."""
        rests_on = {"clusters": self.clusters, "clips": self.clips, "enough": self.enough}
        return Estimate(self.value, self.low, self.high, **rests_on)

    def map(self, factor: float, shift: float = 0.0) -> Difference:
        """Return the difference of scores in another unit: times a factor, plus a shift.

        >>> Difference(0.5, 0.25, 0.125, 0.5).map(-100.0).estimate.ends
        (-50.0, -12.5)
        """
        a, b = (factor * score + shift + 0.0 for score in (self.a, self.b))
        low, high = sorted(factor * end + 0.0 for end in (self.low, self.high))
        return self._replace(a=a, b=b, low=low, high=high)

    @property
    def record(self) -> dict[str, float]:
        """Return its numbers by name, the difference first."""
        return {"difference": self.value, "a": self.a, "b": self.b, "low": self.low, "high": self.high, "p": self.p}

    def swap(self) -> Difference:
        """Return the score of B minus that of A."""
        return self._replace(a=self.b, b=self.a, low=-self.high, high=-self.low)


def plain(value: Any) -> Any:
    """Return numbers, records and arrays as plain data for files; an undefined number is None.

    >>> plain({"kappa": Estimate(0.5), "counts": np.array([1, 2]), "rate": -0.0})
    {'kappa': {'value': 0.5, 'low': None, 'high': None}, 'counts': [1, 2], 'rate': 0.0}
    """
    if type(value) is float:
        return value + 0.0 if math.isfinite(value) else None
    if isinstance(value, str | int):
        return value
    if isinstance(value, Estimate):
        value = dict(zip(("value", "low", "high"), value[:3], strict=True))
    elif isinstance(value, Difference):
        value = value.record
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


class Interval(NamedTuple):
    """Hold the ends of a 95 % interval, each of shape (systems,)."""

    low: np.ndarray
    high: np.ndarray


class StudentizedDraws(NamedTuple):
    """Hold draws around a score.

    Attributes:
        score: The reported score, shape (systems,).
        draws: Shape (draws, systems).
        lowest, highest: Limits of the score.
    """

    score: np.ndarray
    draws: np.ndarray
    lowest: float = -np.inf
    highest: float = np.inf

    @property
    def interval(self) -> Interval:
        """Return the interval around the score that includes 95 % of the draws, within its limits.

        >>> StudentizedDraws(np.array([0.0]), np.linspace(-1, 1, 201)[:, None]).interval
        Interval(low=array([-0.95]), high=array([0.95]))
        """
        half = np.percentile(np.abs(self.draws - self.score), 100 * CONFIDENCE, axis=0)
        low, high = (np.clip(end, self.lowest, self.highest) for end in (self.score - half, self.score + half))
        return Interval(np.minimum(low, self.score), np.maximum(high, self.score))
