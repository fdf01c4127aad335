"""Average the people among the systems of a suite, as the paper's Table 6 does."""

import numpy as np

from speechiq.engines.base import PERSON
from speechiq.reducer.scores.bootstrap import resample, resample_raw
from speechiq.reducer.scores.scale import score
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.estimate import Estimate
from speechiq.siq_tasks.questions.exam import PEOPLE

#: Column of SIQ among those of levels.
SIQ = "siq"


def find_people(scoreboard: Scoreboard) -> list[int]:
    """Return the rows of the people."""
    return [row for row, system in enumerate(scoreboard.systems) if system.kind == PERSON]


def average_people(scoreboard: Scoreboard) -> dict[str, Estimate]:
    """Return level -> mean score of the people in its unit, and `siq` -> their mean SIQ if the suite has one.

    Intervals are of the clips: other clips from the same source, the same people, and the same scale.
    """
    rows, pool = find_people(scoreboard), scoreboard.pool
    raw = {level: values[rows].mean(axis=0, keepdims=True) for level, values in pool.raw.items()}
    mean = pool._replace(systems=(PEOPLE,), raw=raw, controls=frozenset())
    lows, highs = _find_ends(mean, scoreboard)
    found = {
        level: Estimate(float(values.mean()), lows[level], highs[level]).map(scoreboard.columns[level].measure.sign)
        for level, values in raw.items()
    }
    if scoreboard.has_siq and scoreboard.scale:
        found[SIQ] = Estimate(float(score(mean, scoreboard.scale).siq[0]), lows[SIQ], highs[SIQ])
    return found


def _find_ends(mean: ScoreMatrix, scoreboard: Scoreboard) -> tuple[dict[str, float], dict[str, float]]:
    """Return level, and `siq` -> the lower and the upper ends of intervals; NaN without error bars."""
    names = [*mean.raw, SIQ]
    bars = scoreboard.bars
    if bars is None:
        return dict.fromkeys(names, np.nan), dict.fromkeys(names, np.nan)
    if scoreboard.has_siq:
        drawn = resample(mean, scale=scoreboard.scale, draws=bars.draws, seed=bars.seed)
        ends = {**drawn.intervals, SIQ: drawn.siq}
    else:
        ends = resample_raw(mean, draws=bars.draws, seed=bars.seed).intervals
    lows = {name: float(end.low[0]) for name, end in ends.items()}
    return lows, {name: float(end.high[0]) for name, end in ends.items()}
