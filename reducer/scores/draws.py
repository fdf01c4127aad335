"""Draw clips, or whole clusters of clips, with replacement, and score the systems on every draw.

A draw takes as many clusters as the pool has, with replacement; a clip that is in none is one of its own, and its
questions and levels are drawn together. Every score of a draw is a ratio of sums over clusters, so that all draws are
one matrix product per level. Without a fixed scale a draw sets its own (eqs. 3 to 6), except that V_i, a variance over
systems, depends only on clip i.

A draw cannot be scored if none of its clips separates the systems on some level (eq. 5 divides 0 by 0). Such draws are
left out of every number and counted.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.scores import own_scale
from speechiq.reducer.scores.own_scale import Pairs, PerLevel, Total
from speechiq.reducer.scores.scale import (
    NEGLIGIBLE,
    PAPER,
    LevelScale,
    Scale,
    Weighting,
    calibrate,
    combine,
    correlate_levels,
    share_out,
    weighted_score,
)
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.stats.bootstrap import check_draws, count_clusters, number_clusters, sum_clusters
from speechiq.reducer.stats.estimate import Interval, StudentizedDraws

DRAWS = 1000
TAIL_ALLOWANCE = 3.0
LARGEST_STRETCH = 4.0


class Clips(NamedTuple):
    """Hold every clip of some level, sorted, and for each level the place of each of its clips among them.

    `clusters` has the number of each clip's cluster. A draw takes whole clusters.
    """

    names: tuple[str, ...]
    places: dict[str, list[int]]
    clusters: np.ndarray

    @classmethod
    def from_matrix(cls, pool: ScoreMatrix) -> Clips:
        """Return the clips of a pool."""
        place = {clip: i for i, clip in enumerate(sorted(set().union(*pool.clips.values())))}
        places = {level: list(map(place.__getitem__, clips)) for level, clips in pool.clips.items()}
        return cls(tuple(place), places, number_clusters(tuple(place), pool.clusters))

    @property
    def cluster_count(self) -> int:
        """Return the number of clusters."""
        return int(self.clusters.max()) + 1

    @property
    def stretch(self) -> float:
        """Return how much more samples of clusters vary than draws of these; 1 if no two clips share a cluster."""
        count = self.cluster_count
        return float(np.sqrt(count / (count - 1))) if count < len(self.names) else 1.0

    def sum(self, level: str, values: np.ndarray) -> np.ndarray:
        """Return values of a level's clips, shape (..., its clips), as sums over each of all clusters."""
        return sum_clusters(values, self.clusters[self.places[level]], self.cluster_count)

    def spread(self, level: str, values: np.ndarray) -> np.ndarray:
        """Return values of a level's clips, shape (..., its clips), as values of all clips; 0 for all other clips."""
        spread = np.zeros((*values.shape[:-1], len(self.names)))
        spread[..., self.places[level]] = values
        return spread


class Draws(NamedTuple):
    """Hold the scores of every draw that can be scored.

    Attributes:
        raw: Level -> mean raw score, shape (draws, systems).
        siq: SIQ, shape (draws, systems).
        raw_draws: Level -> the draws for the intervals of mean raw scores.
        z_intervals: Level -> interval of Z_j.
        siq_interval: Interval of SIQ.
    """

    raw: PerLevel
    siq: np.ndarray
    left_out: int
    raw_draws: dict[str, StudentizedDraws]
    z_intervals: dict[str, Interval]
    siq_interval: Interval


def draw(
    pool: ScoreMatrix,
    *,
    scale: Scale | None = None,
    rule: Weighting = PAPER,
    draws: int = DRAWS,
    seed: int = 0,
    tail_allowance: float = TAIL_ALLOWANCE,
    pairs: Pairs = None,
) -> Draws:
    """Score a pool on draws of its clips; differences between systems are coupled, since all share each draw.

    Args:
        tail_allowance: On a fixed scale, intervals of X_j count the variance of the heaviest cluster this many more
            times, for equally heavy ones that are not in the set. Differences between two systems use less.
        pairs: Rows of systems whose differences in Z and SIQ have the intervals, on the pool's own scale.
    """
    check_draws(draws)
    clips = Clips.from_matrix(pool)
    if clips.cluster_count < 2:
        unit = "clip" if len(clips.names) < 2 else f"cluster of {len(clips.names)} clips"
        raise SpeechIQError(
            f"a single {unit} has no error bar", "run more clips, or leave error bars out (--bootstrap 0)"
        )
    base = scale or calibrate(pool, rule)
    totals = {level: partial(clips.sum, level) for level in pool.raw}
    parts = {level: _list_rows(raw, base.levels[level], scale, totals[level]) for level, raw in pool.raw.items()}
    counts = count_clusters(clips.cluster_count, draws, seed)
    summed = {level: [part.sum(axis=1)] for level, part in parts.items()}
    for chunk in counts:
        for level, part in parts.items():
            summed[level].append(chunk @ part.T)
    sums = {level: np.vstack(chunks) for level, chunks in summed.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        fixed = scale.levels if scale else {}
        found = {level: _read_sums(summed, pool.raw[level], fixed.get(level)) for level, summed in sums.items()}
    kept = np.logical_and.reduce([level_sums.scored for level_sums in found.values()])
    if kept[1:].mean() < 0.5:
        level = min(found, key=lambda level: found[level].scored.sum())
        raise SpeechIQError(
            f"{(~kept).sum()} of {draws} draws have no clip that separates the systems, most often at level {level}",
            "too few such clips for error bars",
            "run more clips, or leave error bars out (--bootstrap 0)",
        )
    found = {level: level_sums.keep(kept) for level, level_sums in found.items()}
    shares: PerLevel = {}
    if scale:
        for level, level_sums in found.items():
            shares[level] = scale.levels[level].weight + np.zeros((len(level_sums.raw), 1))
    else:
        agreement = correlate_levels({level: level_sums.ability for level, level_sums in found.items()})
        shares = share_out({level: level_sums.spread for level, level_sums in found.items()}, rule.levels, agreement)
    z = {
        level: level_sums.ability
        / (scale.levels[level].std if scale else level_sums.ability.std(axis=-1, keepdims=True))
        for level, level_sums in found.items()
    }
    siq = combine(z, shares)
    if scale:
        z_draws = {
            level: _fixed_draws(level_sums, pool.raw[level], scale.levels[level], tail_allowance, totals[level])
            for level, level_sums in found.items()
        }
        z_intervals = {level: drawn.interval for level, drawn in z_draws.items()}
        siq_draws = combine({level: drawn.draws for level, drawn in z_draws.items()}, scale.weights)
        siq_interval = StudentizedDraws(siq[0], siq_draws).interval
    else:
        z_intervals, siq_interval = own_scale.bound(pool.raw, totals, rule=rule, draws=draws, seed=seed, pairs=pairs)
    return Draws(
        {level: level_sums.raw[1:] for level, level_sums in found.items()},
        siq[1:],
        int((~kept).sum()),
        {
            level: StudentizedDraws(each.raw[0], each.raw[0] + _noise(each.raw, each.raw_error))
            for level, each in found.items()
        },
        z_intervals,
        siq_interval,
    )


def _fixed_draws(
    sums: Sums, raw: np.ndarray, level_scale: LevelScale, tail_allowance: float, total: Total
) -> StudentizedDraws:
    """Return the draws of Z_j on a fixed scale."""
    score = sums.ability[0] / level_scale.std
    widen = _widen(*_variances(raw, level_scale, total), tail_allowance)
    return StudentizedDraws(score, score + widen * _noise(sums.ability, sums.error) / level_scale.std)


def _variances(raw: np.ndarray, level_scale: LevelScale, total: Total) -> tuple[np.ndarray, np.ndarray]:
    """Return the part of each system's heaviest cluster in the variance of X_j, and the sum of all clusters' parts."""
    weighted = weighted_score(raw, level_scale.discrimination)
    parts = total(level_scale.discrimination * (raw - weighted[:, None])) ** 2
    return parts.max(axis=1), parts.sum(axis=1)


def _widen(heaviest: np.ndarray, total: np.ndarray, tail_allowance: float) -> np.ndarray:
    """Return how much a standard error grows if the heaviest cluster counts `tail_allowance` times more."""
    share = np.divide(heaviest, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(np.sqrt(1 + tail_allowance * share))


class Sums(NamedTuple):
    """Hold scores of one level, of the pool (row 0) and of all draws.

    Attributes:
        raw: Mean raw scores, shape (1 + draws, systems).
        raw_error: Their standard errors.
        ability: X_j of eq. 4 minus the mean that eq. 5 subtracts.
        error: Its standard error.
        spread: Standard deviation of all raw scores, which eq. 6 divides by, shape (1 + draws, 1).
        scored: Whether eq. 5 can be computed, shape (1 + draws,).
    """

    raw: np.ndarray
    raw_error: np.ndarray
    ability: np.ndarray
    error: np.ndarray
    spread: np.ndarray
    scored: np.ndarray

    def keep(self, kept: np.ndarray) -> Sums:
        """Return the scores of some rows."""
        return Sums(*(values[kept] for values in self))


def _list_rows(raw: np.ndarray, level_scale: LevelScale, scale: Scale | None, total: Total) -> np.ndarray:
    """Return the rows that a draw sums over clusters, shape (6 systems + 6, clusters).

    These are the raw scores minus each system's mean, the same weighted by V (minus the mean that eq. 5 subtracts), and
    the first and second moment of the clips' cells minus the level's mean.
    """
    cells = raw - raw.mean()
    ability, weights = raw - (level_scale.mean if scale else raw.mean(axis=0)), level_scale.discrimination
    return np.vstack(
        [
            _ratio_rows(total(raw - raw.mean(axis=1, keepdims=True)), total(np.ones(raw.shape[1]))),
            _ratio_rows(total(ability * weights), total(weights)),
            total(cells.mean(axis=0)),
            total((cells**2).mean(axis=0)),
        ]
    )


def _ratio_rows(weighted: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the rows that give the weighted mean of values and its standard error, shape (3 systems + 2, clusters)."""
    return np.vstack([weighted, weighted**2, weighted * weights, weights, weights**2])


def _ratio(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted means and their standard errors by the delta method, from sums of `_ratio_rows`."""
    systems = (sums.shape[1] - 2) // 3
    over, squares, cross, weights, weights2 = np.split(sums, np.cumsum([systems, systems, systems, 1]), axis=1)
    means = over / weights
    return means, np.sqrt(np.maximum(squares - 2 * means * cross + means**2 * weights2, 0)) / weights


def _read_sums(sums: np.ndarray, pool: np.ndarray, level_scale: LevelScale | None) -> Sums:
    """Return the scores of one level for all draws; draws that cannot be scored are not finite."""
    of_raw, of_ability, first, second = np.split(
        sums, [3 * len(pool) + 2, 6 * len(pool) + 4, 6 * len(pool) + 5], axis=1
    )
    raw, raw_error = _ratio(of_raw)
    ability, error = _ratio(of_ability)
    clips = of_raw[:, -2:-1]
    spread = np.sqrt(np.maximum(second / clips - (first / clips) ** 2, 0))
    if level_scale is None:
        scored = np.ptp(ability, axis=1) > NEGLIGIBLE * np.abs(pool).max()
    else:
        scored = np.isfinite(ability).all(axis=1)
    return Sums(raw + pool.mean(axis=1), raw_error, ability, error, spread, scored)


def _noise(values: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return the distance of each draw from the pool, in its own standard errors times those of the pool."""
    stretch = np.divide(errors[0], errors[1:], out=np.full_like(errors[1:], LARGEST_STRETCH), where=errors[1:] > 0)
    return np.asarray((values[1:] - values[0]) * np.minimum(stretch, LARGEST_STRETCH))
