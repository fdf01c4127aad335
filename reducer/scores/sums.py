"""Sum over clips for each draw, and compute scores and their standard errors from these sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from speechiq.reducer.scores.scale import ROUNDING, LevelScale, Scale

LARGEST_STRETCH = 4.0


class Sums(NamedTuple):
    """Scores of one level, of the pool (row 0) and of all draws.

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


def rows(raw: np.ndarray, level_scale: LevelScale, scale: Scale | None) -> np.ndarray:
    """Return the rows that a draw sums over clips, shape (6 systems + 6, clips).

    These are the raw scores minus each system's mean, the same weighted by V (minus the mean that eq. 5 subtracts), and
    the first and second moment of the clip's cells minus the level's mean.
    """
    cells = raw - raw.mean()
    ability = raw - (level_scale.mean if scale else raw.mean(axis=0))
    return np.vstack(
        [
            _ratio_rows(raw - raw.mean(axis=1, keepdims=True), np.ones(raw.shape[1])),
            _ratio_rows(ability, level_scale.discrimination),
            cells.mean(axis=0),
            (cells**2).mean(axis=0),
        ]
    )


def _ratio_rows(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the rows that give the weighted mean of values and its standard error, shape (3 systems + 2, clips)."""
    weighted = values * weights
    return np.vstack([weighted, weighted**2, weighted * weights, weights, weights**2])


def _ratio(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted means and their standard errors by the delta method, from sums of `_ratio_rows`."""
    systems = (sums.shape[1] - 2) // 3
    over, squares, cross, weights, weights2 = np.split(sums, np.cumsum([systems, systems, systems, 1]), axis=1)
    means = over / weights
    return means, np.sqrt(np.maximum(squares - 2 * means * cross + means**2 * weights2, 0)) / weights


def read(sums: np.ndarray, pool: np.ndarray, level_scale: LevelScale | None) -> Sums:
    """Return the scores of one level for all draws; draws that cannot be scored are not finite."""
    of_raw, of_ability, first, second = np.split(
        sums, [3 * len(pool) + 2, 6 * len(pool) + 4, 6 * len(pool) + 5], axis=1
    )
    raw, raw_error = _ratio(of_raw)
    ability, error = _ratio(of_ability)
    clips = of_raw[:, -1:]
    spread = np.sqrt(np.maximum(second / clips - (first / clips) ** 2, 0))
    if level_scale is None:
        scored = np.ptp(ability, axis=1) > ROUNDING * np.abs(pool).max()
    else:
        scored = np.isfinite(ability).all(axis=1)
    return Sums(raw + pool.mean(axis=1), raw_error, ability, error, spread, scored)


def noise(values: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return the distance of each draw from the pool, in its own standard errors times those of the pool."""
    stretch = np.divide(errors[0], errors[1:], out=np.full_like(errors[1:], LARGEST_STRETCH), where=errors[1:] > 0)
    return np.asarray((values[1:] - values[0]) * np.minimum(stretch, LARGEST_STRETCH))
