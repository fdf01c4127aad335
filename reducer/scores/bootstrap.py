"""Compute error bars: how much scores change with other clips, or clusters of clips, from the same source.

The draws themselves give standard errors and the probability of each rank. Intervals need more, since eq. 4's weights
are heavy tailed. On a fixed scale a draw's distance from the pool is divided by the draw's own standard error (the
studentized bootstrap), and the heaviest clip counts more often than once, for clips like it that are not in the set.
On the pool's own scale they are those of `own_scale`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.scores.draws import DRAWS, Clips, Draws, draw
from speechiq.reducer.scores.own_scale import PerLevel
from speechiq.reducer.scores.scale import PAPER, Scale, Weighting, calibrate, competition_ranks, flat, score
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.stats.bootstrap import Resampled, sum_clusters, wilson
from speechiq.reducer.stats.estimate import Estimate, Interval

NOTHING = np.empty(0)


class Bars(NamedTuple):
    """Hold error bars of a scoreboard; arrays of shape (systems,) are in the order of the pool.

    Attributes:
        left_out: Number of draws that could not be scored, of the systems with most of them; they do not count.
        intervals: Column -> 95 % interval of the mean raw score; NaN for a system with fewer than two clips.
        std: Column -> its standard error, shape (systems,).
        z: Level -> interval of Z_j; this and what follows is empty without a scale.
        siq_std: Standard error of SIQ, shape (systems,).
        siq_draws: SIQ of each draw, shape (draws, systems).
    """

    draws: int
    left_out: int
    seed: int
    intervals: dict[str, Interval]
    std: PerLevel
    z: Mapping[str, Interval] = MappingProxyType({})
    siq: Interval = Interval(NOTHING, NOTHING)
    siq_std: np.ndarray = NOTHING
    siq_draws: np.ndarray = NOTHING

    @property
    def ranks(self) -> np.ndarray:
        """Return the probability of each rank, shape (systems, ranks from 1); needs a scale.

        Equal systems share the best of their ranks, so that rows sum to 1 and columns need not.
        """
        return rank_probabilities(self.siq_draws)


def resample(
    pool: ScoreMatrix, *, scale: Scale | None = None, rule: Weighting = PAPER, draws: int = DRAWS, seed: int = 0
) -> Bars:
    """Return the error bars of all systems from one set of draws.

    Args:
        scale: A fixed scale on the pool's clips; None sets a new scale from the pool in every draw.
    """
    drawn = draw(pool, scale=scale, rule=rule, draws=draws, seed=seed)
    return Bars(
        draws=draws,
        left_out=drawn.left_out,
        seed=seed,
        intervals=_intervals_of_raw(pool, drawn),
        std=_std_of_raw(pool, drawn),
        z=drawn.z_intervals,
        siq=drawn.siq_interval,
        siq_std=drawn.siq.std(axis=0, ddof=1) * Clips.from_matrix(pool).stretch,
        siq_draws=drawn.siq,
    )


def rank_probabilities(siq: np.ndarray) -> np.ndarray:
    """Return the probability of each rank from 1, shape (systems, ranks), from SIQ of shape (draws, systems)."""
    ranks = competition_ranks(siq)
    shares = np.empty((siq.shape[1], siq.shape[1]))
    for place in range(siq.shape[1]):
        shares[:, place] = (ranks == place + 1).mean(axis=0)
    return shares


def resample_raw(pool: ScoreMatrix, *, draws: int = DRAWS, seed: int = 0) -> Bars:
    """Return the error bars of mean raw scores only; NaN for a system with fewer than two clips with a score."""
    size = len(pool.systems)
    low, high, std = (dict[str, np.ndarray](), dict[str, np.ndarray](), dict[str, np.ndarray]())
    for level in pool.raw:
        low[level], high[level], std[level] = np.full((3, size), np.nan)
    left_out = 0
    for rows, part in pool.complete_parts():
        drawn = draw(part, scale=flat(part), draws=draws, seed=seed)
        left_out = max(left_out, drawn.left_out)
        for level, interval in _intervals_of_raw(part, drawn).items():
            low[level][rows], high[level][rows] = interval
        for level, errors in _std_of_raw(part, drawn).items():
            std[level][rows] = errors
    return Bars(draws, left_out, seed, {level: Interval(low[level], high[level]) for level in low}, std)


def resample_alone(pool: ScoreMatrix, clips: ScoreMatrix, *, draws: int = DRAWS, seed: int = 0) -> Bars:
    """Return the error bars of mean raw scores, each level by itself on the draws of another pool's clips.

    A draw without any clip of a level is left out for this level alone, so that a level with few clips does not affect
    the others. With equal seeds, all levels and `resample_raw` draw the same clips.

    Args:
        clips: The systems of the pool, with the clips to draw from.
    """
    bars = Bars(draws, 0, seed, {}, {})
    for level in pool.raw:
        alone = resample_raw(pool.alone(level, clips), draws=draws, seed=seed)
        bars.intervals[level], bars.std[level] = alone.intervals[level], alone.std[level]
    return bars


def _intervals_of_raw(pool: ScoreMatrix, drawn: Draws) -> dict[str, Interval]:
    intervals = {}
    for level, of_level in drawn.raw_draws.items():
        lowest, highest = pool.raw_range(level)
        intervals[level] = bound_means(pool, level, of_level._replace(lowest=lowest, highest=highest).interval)
    return intervals


def _std_of_raw(pool: ScoreMatrix, drawn: Draws) -> PerLevel:
    stretch = Clips.from_matrix(pool).stretch
    return {level: values.std(axis=0, ddof=1) * stretch for level, values in drawn.raw.items()}


def leave_one_out(pool: ScoreMatrix, rule: Weighting = PAPER) -> np.ndarray:
    """Return the change of each system's SIQ when one system leaves the pool that sets the scale.

    Returns:
        Shape (systems left out, systems), in SIQ. NaN on the diagonal, and in the row of a system without which the
        others cannot be scored (a single other system, or others that tie on a level).
    """
    siq = score(pool, calibrate(pool, rule)).siq
    shifts = np.full((len(siq), len(siq)), np.nan)
    for j, name in enumerate(pool.systems):
        others = np.arange(len(siq)) != j
        rest = pool._replace(
            systems=tuple(system for system in pool.systems if system != name),
            raw={level: raw[others] for level, raw in pool.raw.items()},
        )
        with suppress(SpeechIQError):
            shifts[j, others] = score(rest, calibrate(rest, rule)).siq - siq[others]
    return shifts


def bound_means(pool: ScoreMatrix, level: str, drawn: Interval) -> Interval:
    """Return the intervals of the mean raw scores of a level, none of which has zero width.

    Scores between two limits have that of `wilson`. Other scores keep the interval from draws, unless all clips of a
    system agree, for which draws have zero width. Then a rate in percent counts as one between 0 and 1, and any other
    score has no interval (NaN). A control whose clips agree on such a level has that score by definition and keeps it.
    """
    raw, clusters = pool.raw[level], pool.number_clusters(level)
    measure = pool.levels[level].measure if level in pool.levels else None
    if measure and measure.is_bounded:
        return _between(raw, clusters, *measure.raw_range)
    constant = (np.ptp(raw, axis=1) == 0) & [name not in pool.controls for name in pool.systems]
    if not constant.any():
        return drawn
    ends = [np.full(len(raw), np.nan)] * 2
    if measure and measure.in_per_cent:
        ends = list(_between(raw, clusters, *sorted((0.0, measure.sign))))
    return Interval(*(np.where(constant, *pair) for pair in zip(ends, drawn, strict=True)))


def estimate_means(pool: ScoreMatrix, level: str, drawn: Resampled, seed: int = 0) -> list[Estimate]:
    """Return the mean raw score of each system on a level, with the interval that `resample_alone` gives it.

    It rests on the clips of the level alone, also if those of other levels are drawn with them. `drawn` has the means
    in draws by `stats/bootstrap.py`, of which studies make other numbers.
    """
    draws = len(drawn.values) - 1
    if not draws:
        return drawn.estimates
    if drawn.clusters > 1:
        ends = resample_raw(pool.alone(level, pool), draws=draws, seed=seed).intervals[level]
    else:
        ends = bound_means(pool, level, Interval(*np.full((2, len(pool.systems)), np.nan)))
    sample = {"clips": len(pool.clips[level]), "clusters": pool.count_clusters(level)}
    found = []
    for estimate, low, high in zip(drawn.estimates, *np.asarray(ends).tolist(), strict=True):
        found.append(estimate._replace(low=low, high=high, **sample))
    return found


def _between(raw: np.ndarray, clusters: np.ndarray, lowest: float, highest: float) -> Interval:
    """Return the intervals of means of scores between two limits, which a score outside moves."""
    least, largest = np.minimum(raw.min(axis=1), lowest), np.maximum(raw.max(axis=1), highest)
    span = largest - least
    shares, sizes = (raw - least[:, None]) / span[:, None], np.ones(raw.shape[1])
    sums, sizes = sum_clusters(shares, clusters), sum_clusters(sizes, clusters)
    return Interval(*(least + end * span for end in wilson(sums, sizes, raw.shape[1])))
