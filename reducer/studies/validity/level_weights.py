"""Find out whether the level that counts most for SIQ predicts wrong answers worse than another level."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.bootstrap import Bars
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.bootstrap import Resampled, resample
from speechiq.reducer.stats.classifier import auc

OUTCOME = "apply"
#: Answers up to which 1000 bootstrap samples take less than half a second.
MOST_ANSWERS = 5_000


def add_predictive(scoreboard: Scoreboard) -> Scoreboard:
    """Return a scoreboard whose remarks have the lines of `compare_weights`."""
    return scoreboard._replace(remarks=scoreboard.remarks._replace(predictive=tuple(compare_weights(scoreboard))))


def compare_weights(scoreboard: Scoreboard) -> Iterator[str]:
    """Yield a line, and one with the figures, if the heaviest level predicts wrong answers worse beyond chance.

    An item is an answer of a system other than a control; a level predicts by the score of its clip. The AUCs are those
    of `siq study predict`, on the bootstrap samples of the scoreboard.
    """
    systems = [system for system in scoreboard.systems if not system.control]
    if not (scoreboard.has_siq and scoreboard.scale and scoreboard.bars and systems):
        return
    weights = {level: scale.weight for level, scale in scoreboard.scale.levels.items()}
    heaviest, *levels = sorted(weights, key=lambda level: -weights[level])
    if heaviest == OUTCOME:
        return
    levels = [heaviest, *(level for level in levels if level != OUTCOME)]
    sampled = _draw_aucs(systems, levels, scoreboard.pool.clusters, scoreboard.bars)
    names = [scoreboard.levels[level].unit.removesuffix("%").strip() for level in levels]
    places = range(1, len(levels)) if sampled else ()
    better = [names[place] for place in places if sampled and sampled.difference(place, 0).side == 1]
    if sampled and better:
        verb = "predicts" if len(better) == 1 else "predict"
        share = f"{title(heaviest)} is {100 * weights[heaviest]:.0f} % of SIQ"
        yield f"{share}; {' and '.join(better)} {verb} wrong answers better"
        shown = ", ".join(f"{name} {value:.3f}" for name, value in zip(names, sampled.values[0], strict=True))
        yield f"AUC of wrong answers (0.5 is chance): {shown}; siq study predict tests all metrics"


def _draw_aucs(
    systems: Sequence[System], levels: Sequence[str], clusters: Mapping[str, str], bars: Bars
) -> Resampled | None:
    """Return the AUC of each level in bootstrap samples; None if there is none, or too much to draw."""
    rows = np.array(
        [
            [score, *(system.scores[level].get(item[:1], np.nan) for level in levels)]
            for system in systems
            for item, score in system.scores[OUTCOME].items()
        ]
    )
    clips = np.array([item[0] for system in systems for item in system.scores[OUTCOME]])
    known = ~np.isnan(rows).any(axis=1)
    answers, risks = rows[known, 0], -rows[known, 1:].T
    failed = answers < 0.5
    if not 0 < failed.sum() < len(failed) <= MOST_ANSWERS:
        return None
    return resample(
        lambda counts: np.stack([auc(risk, failed, counts) for risk in risks], axis=1),
        clips[known],
        clusters,
        draws=bars.draws,
        seed=bars.seed,
    )
