"""Plan the size of a paired comparison of two systems from the differences on the clips of a pilot run.

The test is Student's on the mean difference, two-sided at 5 %, with one degree of freedom less than clusters; a clip
without a cluster is a cluster of its own. Under a true difference its statistic has the noncentral t distribution.

The standard deviation is known from a few clips only, and those of a skewed score often miss the large differences. So
the plan has the power on average over the deviations that bootstrap samples of the pilot run's clips suggest.
"""

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from speechiq.reducer.stats.bootstrap import resample
from speechiq.reducer.stats.estimate import CONFIDENCE, DECIMALS, ROUNDING, Estimate

ALPHA = 1 - CONFIDENCE
#: Fewest clusters to plan with: a permutation test of fewer has too few sign patterns for a p value below 5 %.
FEWEST_PLANNED = 8
MOST_PLANNED = 10**12
#: Deviations for which the power is averaged: quantiles of those of the draws.
QUANTILES = (np.arange(50) + 0.5) / 50
#: Clusters from which on the normal distribution takes the place of t.
MANY = 10_000
#: A larger noncentrality has the power 1.
SURE = 30.0
#: A draw with a smaller part of the variance of the pilot run has none.
NO_VARIANCE = 1e-9


class Spread(NamedTuple):
    """Describe how the differences of a pilot run vary.

    Attributes:
        clips, clusters: Numbers of these with a difference.
        deviation: Standard deviation over clips.
        icc: Intra-cluster correlation; 0 if no two clips share a cluster.
        unit: Standard deviation of one cluster: the standard error of the mean times the root of the clusters.
        likely: Quantiles of the deviations of a cluster that draws with a variance suggest; without draws `unit` alone.
    """

    clips: int
    clusters: int
    mean: float
    deviation: float
    icc: float
    unit: Estimate
    likely: np.ndarray

    def smallest(self, power: float) -> Estimate:
        """Return the smallest difference that as many clusters as in the pilot run show."""
        ends = self.unit.map(shown_by(self.clusters, power))
        return ends._replace(value=shown_on_average(self.likely, self.clusters, power))

    def needed(self, difference: float, power: float) -> Estimate:
        """Return the number of clusters that show a difference."""
        low, high = (count_needed(np.array([end]), difference, power) for end in self.unit.ends)
        return self.unit._replace(value=count_needed(self.likely, difference, power), low=low, high=high)


def measure_spread(differences: np.ndarray, clusters: np.ndarray, *, draws: int = 0, seed: int = 0) -> Spread:
    """Return how differences vary, with an interval of the deviation of a cluster from draws of clusters.

    The variance of a cluster is that of the sums over clusters, and at least that of as many independent clips. Draws
    of few clusters have too small variances, so the interval is made of the inverses of their ratios to the variance;
    its upper end is infinite if more than one draw in 40 has no variance.

    Args:
        differences: Difference of each clip, shape (clips,).
        clusters: Number of the cluster of each clip, from 0 without gaps, shape (clips,).
        draws: Number of draws; 0 leaves the interval out.

    >>> spread = measure_spread(np.array([0.0, 2.0, 4.0, 2.0, 2.0]), np.arange(5))
    >>> round(spread.deviation, 3), round(spread.unit.value, 3), round(spread.smallest(0.8).value, 3)
    (1.414, 1.414, 2.379)
    """
    mean = float(differences.mean())
    centered = np.round(differences - mean, DECIMALS)
    sizes, sums, squares = (np.bincount(clusters, centered**power) for power in range(3))

    def variances(counts: np.ndarray) -> np.ndarray:
        """Return the variances of a cluster and of as many independent clips, shape (draws, 2)."""
        drawn, clips = counts.sum(axis=1), counts @ sizes
        center = counts @ sums / clips
        total = np.maximum(counts @ squares - clips * center**2, 0) / (clips - 1)
        residuals = counts @ sums**2 - 2 * center * (counts @ (sums * sizes)) + center**2 * (counts @ sizes**2)
        between = np.maximum(residuals, 0) / (drawn - 1) * (drawn / clips) ** 2
        return np.column_stack([between, total * drawn / clips])

    drawn = resample(variances, range(len(sizes)), draws=draws, seed=seed, enough=0)
    between, independent = drawn.values[0].tolist()
    variance = max(between, independent)
    estimate = drawn.map(lambda values: values[:, 0]).estimate
    low, high = (
        math.inf if end <= NO_VARIANCE * between else variance * between / end for end in reversed(estimate.ends)
    )
    ratios = drawn.values[1:, 0] / (between or 1.0)
    ratios = ratios[ratios > NO_VARIANCE]
    likely = variance / np.quantile(ratios, QUANTILES) if between and len(ratios) else np.array([variance])
    larger = float((sizes**2).sum() / len(differences)) - 1
    excess = variance / independent - 1 if independent else 0.0
    return Spread(
        len(differences),
        len(sizes),
        mean,
        math.sqrt(independent * len(differences) / len(sizes)),
        excess / larger if larger else 0.0,
        estimate._replace(value=math.sqrt(variance), low=math.sqrt(low), high=math.sqrt(high), n=len(differences)),
        np.sqrt(likely),
    )


def shown_by(clusters: float, power: float) -> float:
    """Return the smallest difference that a number of clusters shows with a power, in deviations of a cluster.

    A difference in the wrong direction shows nothing.

    >>> round(shown_by(34, 0.8), 3)
    0.495
    """
    from scipy.special import nctdtrinc, stdtrit

    freedom = clusters - 1
    return float(nctdtrinc(freedom, 1 - power, stdtrit(freedom, 1 - ALPHA / 2)) / math.sqrt(clusters))


def power_of(deviations: np.ndarray, difference: float, clusters: float) -> float:
    """Return the mean power of a number of clusters over some deviations of a cluster.

    >>> round(power_of(np.array([2.0]), 1.0, 34), 2), round(power_of(np.array([2.0, 4.0]), 1.0, 34), 2)
    (0.81, 0.55)
    """
    from scipy.special import nctdtr, ndtr, stdtrit

    with np.errstate(divide="ignore"):
        noncentral = np.minimum(difference * math.sqrt(clusters) / deviations, SURE)
    freedom = clusters - 1
    quantile = stdtrit(freedom, 1 - ALPHA / 2)
    below = ndtr(quantile - noncentral) if clusters > MANY else nctdtr(freedom, noncentral, quantile)
    return float(1 - np.mean(below))


def shown_on_average(deviations: np.ndarray, clusters: float, power: float) -> float:
    """Return the smallest difference that has a power on average over some deviations.

    >>> round(shown_on_average(np.array([1.0]), 34, 0.8), 3)
    0.495
    """
    from scipy.optimize import brentq

    largest = SURE * float(deviations.max())
    if not largest or power_of(deviations, largest, clusters) < power:
        return largest and math.inf
    return float(brentq(lambda difference: power_of(deviations, difference, clusters) - power, 0.0, largest))


def count_needed(deviations: np.ndarray, difference: float, power: float) -> float:
    """Return the smallest number of clusters that has a power on average; infinite if there are too many to count.

    >>> count_needed(np.array([2.0]), 1.0, 0.8), count_needed(np.array([0.0]), 1.0, 0.8)
    (34.0, 8.0)
    """
    if np.isnan(deviations).any():
        return math.nan
    sizes = range(FEWEST_PLANNED, MOST_PLANNED)
    place = bisect_left(
        sizes, True, key=lambda clusters: power_of(deviations, difference, clusters) >= power - ROUNDING
    )
    return float(sizes[place]) if place < len(sizes) else math.inf
