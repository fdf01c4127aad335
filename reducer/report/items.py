"""Find the deciding clips: the hardest, the heaviest, and those with different ranks by WER and by similarity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from speechiq.reducer.scores.scale import Scale
from speechiq.reducer.scores.score_matrix import ScoreMatrix

SHOWN = 8
TOP = 0.1


class Item(NamedTuple):
    """A clip of a list and the number that put it there, in per cent."""

    clip: str
    value: float


class LevelItems(NamedTuple):
    """One level's clips.

    Attributes:
        level: Name of the level.
        unit: Of `hardest`.
        hardest: Lowest mean raw score over the systems that process audio, lowest first.
        heaviest: Largest share of the level's weight, V_i / sum V (eq. 4), largest first.
        top_count: Number of clips in the heaviest tenth.
        top_share: Their share of the weight, per cent.
    """

    level: str
    unit: str
    hardest: list[Item]
    heaviest: list[Item]
    top_count: int
    top_share: float


class RankGap(NamedTuple):
    """A transcript whose ranks by word errors and by similarity differ; per cent, ranks among all transcripts."""

    system: str
    clip: str
    wer: float
    similarity: float
    wer_rank: float
    similarity_rank: float


def deciding(pool: ScoreMatrix, scale: Scale | None, listening: Sequence[int]) -> list[LevelItems]:
    """Return each level's hardest and heaviest clips.

    Args:
        pool: The systems.
        scale: The scale with V_i of the pool's clips; None without a scale, and then no clip is heaviest.
        listening: Rows of the systems that process audio.
    """
    found = []
    for level, raw in pool.raw.items():
        names, share = pool.clips[level], shares(scale, level) if scale else np.empty(0)
        mean = raw[listening].mean(axis=0)
        top = max(1, round(TOP * len(names)))
        found.append(
            LevelItems(
                level,
                pool.levels[level].unit,
                [Item(names[i], pool.levels[level].show(mean[i])) for i in np.argsort(mean, kind="stable")[:SHOWN]],
                [Item(names[i], 100 * share[i]) for i in np.argsort(-share, kind="stable")[:SHOWN]],
                top,
                100 * float(np.sort(share)[-top:].sum()),
            )
        )
    return found


def shares(scale: Scale, level: str) -> np.ndarray:
    """Return V_i / sum V: each clip's share of a level's weight, shape (clips,)."""
    weights = scale.levels[level].discrimination
    return np.asarray(weights / weights.sum())


def rank_gaps(pool: ScoreMatrix, listening: Sequence[int]) -> tuple[list[RankGap], list[RankGap]]:
    """Return transcripts with many word errors and a high similarity, and the reverse; the largest difference first.

    All transcripts of the systems that process audio are ranked by word error rate and by similarity, 0 the worst, 100
    the best.

    Returns:
        (similarity ranks higher, word errors rank higher); a transcript with equal ranks is in neither list. Without
        one of the two levels both lists are empty.
    """
    from scipy.stats import rankdata

    if not {"remember", "understand"} <= pool.raw.keys():
        return [], []
    common = sorted({*pool.clips["remember"]} & {*pool.clips["understand"]})
    places = {level: np.searchsorted(pool.clips[level], common) for level in ("remember", "understand")}
    errors, similarity = (pool.raw[level][np.ix_(np.array(listening, dtype=int), at)] for level, at in places.items())
    best = max(errors.size - 1, 1)
    ranks = [100 * (rankdata(values).reshape(values.shape) - 1) / best for values in (errors, similarity)]
    gap = ranks[1] - ranks[0]

    def listed(sign: int) -> list[RankGap]:
        order = np.argsort(-sign * gap, axis=None, kind="stable")[:SHOWN]
        where = zip(*np.unravel_index(order, gap.shape), strict=True)
        return [
            RankGap(
                pool.systems[listening[row]],
                common[clip],
                pool.levels["remember"].show(errors[row, clip]),
                pool.levels["understand"].show(similarity[row, clip]),
                *(float(rank[row, clip]) for rank in ranks),
            )
            for row, clip in where
            if sign * gap[row, clip] > 0
        ]

    return listed(1), listed(-1)
