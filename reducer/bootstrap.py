"""Error bars: how far scores move when other clips from the same source are asked.

A draw takes as many clips as there are, with replacement; a clip's questions and levels come along together. Every
score of a draw is a ratio of sums over clips, so that all draws are one matrix product a level. Without a frozen
scale a draw sets its own (eqs. 3 to 6), except that V_i, a variance over systems, does not hang on the clips drawn.

A draw that cannot be scored, because none of its clips tells the systems apart on some level (eq. 5 divides 0 by 0),
is left out of every number and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.pool import Pool
from speechiq.reducer.siq import (
    DEFAULT_RULE,
    ROUNDING,
    LevelScale,
    Scale,
    calibrate,
    combine,
    competition_ranks,
    score,
    share_out,
)

DRAWS = 1000
FEWEST_DRAWS = 40
TAILS = (2.5, 97.5)
CHUNK_CELLS = 2**22

PerLevel = dict[str, np.ndarray]


class Interval(NamedTuple):
    """A 95 % interval: the percentiles 2.5 and 97.5 of the draws, each of shape (systems,)."""

    low: np.ndarray
    high: np.ndarray


class Clips(NamedTuple):
    """The clips of a pool's levels, taken together.

    Attributes:
        names: Every clip that some level has, sorted.
        places: level -> where each of its clips stands among `names`.
    """

    names: tuple[str, ...]
    places: dict[str, list[int]]

    @classmethod
    def of(cls, pool: Pool) -> Clips:
        place = {clip: i for i, clip in enumerate(sorted(set().union(*pool.clips.values())))}
        return cls(tuple(place), {level: [place[clip] for clip in clips] for level, clips in pool.clips.items()})

    def spread(self, level: str, values: np.ndarray) -> np.ndarray:
        """Values of a level's clips, shape (..., its clips), as values of all clips: 0 where the level lacks one."""
        spread = np.zeros((*values.shape[:-1], len(self.names)))
        spread[..., self.places[level]] = values
        return spread


class Draws(NamedTuple):
    """The scores of every draw that can be scored.

    Attributes:
        raw: level -> mean raw score, shape (draws, systems).
        z: level -> Z_j, shape (draws, systems).
        siq: Shape (draws, systems).
        left_out: How many draws could not be scored.
    """

    raw: PerLevel
    z: PerLevel
    siq: np.ndarray
    left_out: int


class Bootstrap(NamedTuple):
    """Error bars of a pool, systems in the pool's order.

    Attributes:
        draws: How many were made.
        left_out: How many of them could not be scored and count nowhere.
        seed: Of the draws.
        raw: level -> interval of the mean raw score, a fraction that grows with ability.
        raw_std: level -> its standard error, shape (systems,).
        z: level -> interval of Z_j.
        siq: Interval of the SIQ.
        siq_std: Its standard error, shape (systems,).
        ranks: Probability of each rank, shape (systems, systems): a row a system, columns ranks from 1. Equal systems
            share the best rank of their group, so that rows sum to 1 and columns need not.
    """

    draws: int
    left_out: int
    seed: int
    raw: dict[str, Interval]
    raw_std: PerLevel
    z: dict[str, Interval]
    siq: Interval
    siq_std: np.ndarray
    ranks: np.ndarray


def resample(
    pool: Pool, *, scale: Scale | None = None, rule: str = DEFAULT_RULE, draws: int = DRAWS, seed: int = 0
) -> Bootstrap:
    """Error bars of all systems from one set of draws.

    Args:
        pool: The systems.
        scale: A frozen scale on the pool's clips; None sets a new one from the pool in every draw.
        rule: Of the level weights where there is no `scale`.
        draws: How many.
        seed: Equal seeds give equal draws.

    Raises:
        SpeechIQError: What `draw` refuses.
    """
    drawn = draw(pool, scale=scale, rule=rule, draws=draws, seed=seed)
    ranks = np.array([competition_ranks(siq) for siq in drawn.siq])
    return Bootstrap(
        draws=draws,
        left_out=drawn.left_out,
        seed=seed,
        raw={level: interval(values) for level, values in drawn.raw.items()},
        raw_std={level: values.std(axis=0, ddof=1) for level, values in drawn.raw.items()},
        z={level: interval(values) for level, values in drawn.z.items()},
        siq=interval(drawn.siq),
        siq_std=drawn.siq.std(axis=0, ddof=1),
        ranks=(ranks[..., None] == np.arange(1, len(pool.systems) + 1)).mean(axis=0),
    )


def interval(values: np.ndarray) -> Interval:
    """The 95 % interval over the first axis.

    >>> interval(np.arange(101.0))
    Interval(low=np.float64(2.5), high=np.float64(97.5))
    """
    return Interval(*np.percentile(values, TAILS, axis=0))


def draw(
    pool: Pool, *, scale: Scale | None = None, rule: str = DEFAULT_RULE, draws: int = DRAWS, seed: int = 0
) -> Draws:
    """Scores a pool on draws of its clips; differences between systems are coupled, since a draw serves all.

    Args:
        pool: The systems.
        scale: As for `resample`.
        rule: As for `resample`.
        draws: How many, at least `FEWEST_DRAWS`.
        seed: Equal seeds give equal draws.

    Raises:
        SpeechIQError: Too few draws, a single clip, a pool that cannot be scored, or one that cannot be scored on more
            than half of the draws.
    """
    if draws < FEWEST_DRAWS:
        raise SpeechIQError(f"{draws} draws have no 95 % interval: give at least {FEWEST_DRAWS}, better {DRAWS}")
    clips = Clips.of(pool)
    if len(clips.names) < 2:
        raise SpeechIQError("a single clip has no error bar: run more clips, or go without (--bootstrap 0)")
    base = scale or calibrate(pool, rule)
    rows = {level: clips.spread(level, _rows(raw, base.levels[level])) for level, raw in pool.raw.items()}
    counts = _counts(len(clips.names), draws, seed)
    chunks = [{level: chunk @ of.T for level, of in rows.items()} for chunk in counts]
    sums = {level: np.concatenate([of[level] for of in chunks]) for level in rows}
    raw, z, siq, scored = _score(sums, pool, scale, rule)
    kept = np.logical_and.reduce([*scored.values()])
    if kept.mean() < 0.5:
        level = min(scored, key=lambda level: scored[level].sum())
        raise SpeechIQError(
            f"{(~kept).sum()} of {draws} draws hold no clip that tells the systems apart, most often at level {level}: "
            "too few such clips for error bars; run more clips, or go without (--bootstrap 0)"
        )
    raw, z = ({level: values[kept] for level, values in of.items()} for of in (raw, z))
    return Draws(raw, z, siq[kept], int((~kept).sum()))


def leave_one_out(pool: Pool, rule: str = DEFAULT_RULE) -> np.ndarray:
    """How each system's SIQ moves when one system leaves the pool that sets the scale.

    Returns:
        Shape (systems left out, systems), in SIQ. NaN on the diagonal, and in the row of a system without which nothing
        can be scored (one other system alone, or others that tie on a level).

    Raises:
        SpeechIQError: What `calibrate` refuses in the whole pool.
    """
    whole = score(pool, calibrate(pool, rule)).siq
    shifts = np.full((len(whole), len(whole)), np.nan)
    for j, name in enumerate(pool.systems):
        others = np.arange(len(whole)) != j
        rest = Pool(
            tuple(other for other in pool.systems if other != name),
            pool.clips,
            {level: raw[others] for level, raw in pool.raw.items()},
        )
        with suppress(SpeechIQError):
            shifts[j, others] = score(rest, calibrate(rest, rule)).siq - whole[others]
    return shifts


def _counts(clips: int, draws: int, seed: int) -> Iterator[np.ndarray]:
    """How often each draw holds each clip, shape (some draws, clips); the same whatever `CHUNK_CELLS` is."""
    generator = np.random.default_rng(seed)
    size = max(1, CHUNK_CELLS // clips)
    even = np.full(clips, 1 / clips)
    for start in range(0, draws, size):
        yield generator.multinomial(clips, even, size=min(size, draws - start)).astype(float)


def _rows(raw: np.ndarray, of: LevelScale) -> np.ndarray:
    """What a draw sums over clips, shape (2 systems + 4, clips).

    Each system's raw score, the same times V, then 1, V, and first and second moment of the clip's cells about the
    level's mean.
    """
    cells = raw - raw.mean()
    weights = of.discrimination
    return np.vstack([raw, raw * weights, np.ones_like(weights), weights, cells.mean(axis=0), (cells**2).mean(axis=0)])


def _score(
    sums: PerLevel, pool: Pool, scale: Scale | None, rule: str
) -> tuple[PerLevel, PerLevel, np.ndarray, PerLevel]:
    """Eqs. 4 to 8 of all draws: raw, Z, SIQ, and whether a level can be scored; what cannot be is not finite."""
    count = len(pool.systems)
    parts = np.cumsum([count, count, 1, 1, 1])
    raw, z, spread, scored = {}, {}, {}, {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for level, of in sums.items():
            of_raw, of_weighted, clips, weights, first, second = np.split(of, parts, axis=1)
            raw[level], weighted = of_raw / clips, of_weighted / weights
            spread[level] = np.sqrt(np.maximum(second / clips - (first / clips) ** 2, 0))
            if scale is None:
                mean, std = weighted.mean(axis=1, keepdims=True), weighted.std(axis=1, keepdims=True)
                scored[level] = np.ptp(weighted, axis=1) > ROUNDING * np.abs(pool.raw[level]).max()
            else:
                mean, std = scale.levels[level].mean, scale.levels[level].std
                scored[level] = weights[:, 0] > 0
            z[level] = (weighted - mean) / std
        shares = share_out(spread, rule) if scale is None else {level: scale.levels[level].weight for level in z}
    return raw, z, combine(z, shares), scored
