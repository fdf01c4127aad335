"""Score systems on each data set, and average over data sets, each with the same weight."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.systems import Flags, System
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.ranking import rank, rank_means
from speechiq.reducer.scores.remarks import NO_REMARKS, has_scale
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.scores.scoreboard import Scoreboard

MACRO = "macro-average"


def rank_by_dataset(systems: Iterable[System], suite: str = SIQ, **options: Any) -> dict[str, Scoreboard]:
    """Score systems on the clips of each data set; each has a scale of its own.

    Args:
        **options: As for `ranking.rank`, without `norms`, which have one scale for all their data sets.
    """
    scoreboards = {}
    for dataset, members in split(systems).items():
        try:
            scoreboard = rank(members, suite, **options)
        except SpeechIQError as error:
            raise SpeechIQError(f"data set {dataset!r}", error) from error
        if scoreboard.scale and not scoreboard.has_z and has_scale(scoreboard.pool):
            raise SpeechIQError(f"data set {dataset!r}", scoreboard.remarks.no_siq)
        scoreboards[dataset] = scoreboard
    return scoreboards


def split(systems: Iterable[System]) -> dict[str, list[System]]:
    """Return data set -> the systems with only the items of that data set."""
    systems = list(systems)
    items = [(system, item) for system in systems for scores in system.scores.values() for item in scores]
    names = sorted({system.datasets[item[0]] for system, item in items})
    return {name: [_part(system, name) for system in systems] for name in names}


def macro_average(scoreboard: Scoreboard, parts: Mapping[str, Scoreboard]) -> Scoreboard | None:
    """Return the mean of each number over the data sets that have it; None if no category has several.

    The mean is not weighted. On a scale only the levels of all data sets count, since SIQ needs each of them; without
    all levels it is missing. There are neither intervals nor flags.
    """
    boards = list(parts.values())
    sets = {column: [board for board in boards if column in board.columns] for column in scoreboard.columns}
    columns = [column for column, having in sets.items() if len(having) == len(boards) or not scoreboard.scale]
    pool, further = scoreboard.pool.restrict(columns), scoreboard.further
    if not pool.raw or (not scoreboard.scale and all(len(sets[category]) < 2 for category in pool.raw)):
        return None
    means = {column: np.mean([board.means[column] for board in sets[column]], axis=0) for column in columns}
    macro = scoreboard._replace(
        pool=pool,
        systems=tuple(system._replace(flags=Flags()) for system in scoreboard.systems),
        further=further._replace(pool=further.pool.restrict(columns), left_out=()),
        means=means,
        ranks={category: rank_means(means[category]) for category in pool.raw},
        remarks=NO_REMARKS,
        bars=None,
        reliability={},
        shifts=None,
    )
    if scoreboard.scale is None:
        return macro
    return macro._replace(
        weighted={level: np.mean([board.weighted[level] for board in boards], axis=0) for level in pool.raw},
        z={level: np.mean([board.z[level] for board in boards], axis=0) for level in pool.raw},
        siq=np.mean([board.siq for board in boards], axis=0),
    )


def macro_caption(pools: Mapping[str, ScoreMatrix]) -> list[str]:
    """Return the lines below the table of the macro-average."""
    sizes = {dataset: max(map(len, pool.clips.values())) for dataset, pool in pools.items()}
    shown = ", ".join(f"{dataset} ({count_of(count, 'clip')})" for dataset, count in sizes.items())
    return [
        f"mean of the data sets' tables, each data set with the same weight: {shown}",
        "in the first table each clip counts once, so a data set with more clips counts more",
    ]


def _part(system: System, dataset: str) -> System:
    tasks = tuple(task for task in system.tasks if task.dataset == dataset)
    return system._replace(tasks=tasks).narrow(
        {
            level: kept
            for level, scores in system.scores.items()
            if (kept := {item: score for item, score in scores.items() if system.datasets[item[0]] == dataset})
        }
    )
