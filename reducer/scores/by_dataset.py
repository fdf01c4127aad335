"""Rank systems on each data set, and average over data sets, each with the same weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.flags import Flags
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.ranking import NO_CONTEXT, Ranking, rank
from speechiq.reducer.scores.remarks import has_scale
from speechiq.reducer.scores.scale import FLAT, LevelScores, competition_ranks
from speechiq.reducer.scores.score_matrix import ScoreMatrix

MACRO = "macro-average"


def rank_by_dataset(systems: Iterable[System], **options: Any) -> dict[str, Ranking]:
    """Rank systems on the clips of each data set, with a scale per data set.

    Args:
        systems: As for `ranking.rank`.
        **options: As for `ranking.rank`, without `norms`, which have one scale for all their data sets.

    Returns:
        Data set -> its ranking, sorted by name.

    Raises:
        SpeechIQError: A data set cannot be scored; the message names it.
    """
    found = {}
    for dataset, members in split(systems).items():
        try:
            found[dataset] = rank(members, **options)
        except SpeechIQError as error:
            raise SpeechIQError(f"data set {dataset!r}: {error}") from error
        if found[dataset].scores.scale.rule == FLAT and has_scale(found[dataset].pool):
            raise SpeechIQError(f"data set {dataset!r}: {found[dataset].context.remarks.no_siq}")
    return found


def split(systems: Iterable[System]) -> dict[str, list[System]]:
    """Return data set -> the systems with only the items of that data set."""
    systems = list(systems)
    items = [(system, item) for system in systems for scores in system.scores.values() for item in scores]
    names = sorted({system.datasets[item[0]] for system, item in items})
    return {name: [_part(system, name) for system in systems] for name in names}


def macro_average(rankings: Mapping[str, Ranking]) -> Ranking:
    """Return the mean of each number over data sets.

    The mean is not weighted. A number that is missing on one data set is missing in the mean. There are neither
    intervals nor flags.
    """
    first = next(iter(rankings.values()))
    sets = [ranking.scores.levels for ranking in rankings.values()]
    shared = [level for level in first.scores.levels if all(level in levels for levels in sets)]
    mean = {level: LevelScores(*np.mean([levels[level] for levels in sets], axis=0)) for level in shared}
    siq = np.mean([ranking.scores.siq for ranking in rankings.values()], axis=0)
    scores = first.scores._replace(levels=mean, siq=siq, ranks=competition_ranks(siq))
    systems = tuple(system._replace(flags=Flags()) for system in first.context.systems)
    pool = first.pool._replace(
        raw={level: first.pool.raw[level] for level in shared},
        clips={level: first.pool.clips[level] for level in shared},
        levels={level: first.pool.levels[level] for level in shared},
    )
    return Ranking(pool, scores, NO_CONTEXT._replace(systems=systems))


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
