"""Say what the clip weights of eq. 4 do to a level: a clip that decides it, an order that is not that of means."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from speechiq.reducer.scores.remarks import ROUNDING, title
from speechiq.reducer.scores.scale import LevelScores, NoSpread, Scale, Scores, scale_level, score_level
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.stats.grid import Important
from speechiq.reducer.stats.paired import separates

#: Share of a level's weight above which a line names a clip, if it is more than twice that of equal weights.
HEAVY = 0.2
#: Decimals of Z in tables: numbers that are equal there contradict nothing.
SHOWN = 2


class HeavyClip(NamedTuple):
    """Hold the clip with the largest weight of a level, and its share of the sum of weights."""

    clip: str
    share: float


def find_heaviest(pool: ScoreMatrix, scale: Scale) -> dict[str, HeavyClip]:
    """Return level -> its heaviest clip."""
    heaviest = {}
    for level, clips in pool.clips.items():
        shares = scale.levels[level].shares
        place = int(shares.argmax())
        heaviest[level] = HeavyClip(clips[place], float(shares[place]))
    return heaviest


def separates_by_z(pool: ScoreMatrix, scale: Scale) -> dict[str, bool]:
    """Return level -> whether some two systems differ on it beyond chance by their weighted scores."""
    return {level: _separates(pool, scale, level, range(len(pool.systems))) for level in pool.raw}


def describe_weights(pool: ScoreMatrix, scores: Scores, ranked: Sequence[int], own_scale: bool) -> Iterator[str]:
    """Yield a line for each level that one clip decides, or on which Z and the mean order systems differently.

    Args:
        ranked: The rows of the systems whose order counts.
        own_scale: Whether the pool sets its scale, so that leaving a clip out sets another.
    """
    heaviest, pairs = find_heaviest(pool, scores.scale), [*combinations(ranked, 2)]
    for level, clips in pool.clips.items():
        parts = []
        reordered = [pair for pair in pairs if _is_reordered(scores.levels[level], *pair)]
        if reordered:
            shown = _describe_order(pool, scores, level, reordered)
            parts.append(f"Z orders {len(reordered)} of {len(pairs)} pairs of systems otherwise than the mean: {shown}")
        if heaviest[level].share > max(HEAVY, 2 / len(clips)):
            effect = _describe_effect(pool, scores, level) if own_scale else ""
            share = f"{100 * heaviest[level].share:.0f} %"
            parts.append(f"clip {heaviest[level].clip!r} has {share} of the weight{effect}; check its reference")
        if parts:
            yield Important(f"{title(level)}: {'; '.join(parts)}")


def _separates(pool: ScoreMatrix, scale: Scale, level: str, rows: Sequence[int]) -> bool:
    weighted = pool.raw[level][[*rows]] * scale.levels[level].shares * len(pool.clips[level])
    return separates(weighted, pool.number_clusters(level))


def _is_reordered(scores: LevelScores, a: int, b: int) -> bool:
    """Return whether the better of two systems by the mean is not the better one by Z; a tie has no better one."""
    by_mean, by_z = scores.raw[a] - scores.raw[b], np.round(scores.z[a], SHOWN) - np.round(scores.z[b], SHOWN)
    tied = abs(by_mean) <= ROUNDING
    return bool(by_z != 0 and (tied or by_mean * by_z < 0))


def _describe_order(pool: ScoreMatrix, scores: Scores, level: str, reordered: Sequence[tuple[int, int]]) -> str:
    """Return in words the pair whose Z differs most, and whether that is beyond chance."""
    category, of = pool.levels[level], scores.levels[level]
    a, b = max(reordered, key=lambda pair: abs(of.z[pair[0]] - of.z[pair[1]]))
    beyond = "beyond" if _separates(pool, scores.scale, level, (a, b)) else "within"
    first, second = (
        f"{pool.systems[row]} has {category.show(of.raw[row]):.2f} {category.unit} and Z {of.z[row]:+.2f}"
        for row in (a, b)
    )
    return f"{first}, {second}, {beyond} chance by Z"


def _describe_effect(pool: ScoreMatrix, scores: Scores, level: str) -> str:
    """Describe the largest change of Z without the heaviest clip: its system, and Z before and after."""
    z, shares = scores.levels[level].z, scores.scale.levels[level].shares
    without = np.delete(pool.raw[level], shares.argmax(), axis=1)
    try:
        changed = score_level(without, scale_level(level, without, 0.0)).z
    except NoSpread:
        return ", and without it the systems tie"
    row = int(np.abs(changed - z).argmax())
    return f", and without it {pool.systems[row]} has Z {changed[row]:+.2f} instead of {z[row]:+.2f}"
