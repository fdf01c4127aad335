"""Prepare the scores on each data set, their mean over the sets, and the scores on all clips."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from speechiq.core.console import count_of
from speechiq.reducer.report.study import Study
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.scores.by_dataset import macro_average
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.tables.scoreboard_records import rows_of

Rows = Mapping[str, Mapping[str, Any]]


class Cell(NamedTuple):
    """One number of one system; unknown values are None.

    Attributes:
        value: SIQ, or a level's mean in per cent.
        z: Z of the level.
        interval: 95 % interval of SIQ.
    """

    value: float | None = None
    z: float | None = None
    interval: tuple[float, float] | None = None


class SetTable(NamedTuple):
    """One score on all sets.

    Attributes:
        name: `siq` or a level.
        columns: Heading -> the source of its numbers.
        cells: system -> its cells, one per column.
    """

    name: str
    columns: dict[str, str]
    cells: dict[str, list[Cell]]


def tables(study: Study) -> list[SetTable]:
    """Return a table of SIQ, if there is one, and a table of each level; none if there is one data set only."""
    if not study.sets:
        return []
    boards = [*study.sets.values(), macro_average(study.scoreboard, study.sets), study.scoreboard]
    rows: list[Rows] = [{row["system"]: row for row in rows_of(board)} for board in boards if board]
    measures = study.scoreboard.levels
    columns = {name: _count(of.pool) for name, of in study.sets.items()}
    columns |= {"Macro average": "each set once", "All clips": _count(study.scoreboard.pool)}
    return [
        SetTable(name, columns, {system: [_cell(name, of[system], measures) for of in rows] for system in study.names})
        for name in [*["siq"] * study.has_siq, *study.levels]
    ]


def cautions(study: Study) -> dict[str, str]:
    """Return data set -> the caution about its intervals, for small data sets."""
    if not study.has_siq:
        return {}
    return {name: caution for name, scoreboard in study.sets.items() if (caution := scoreboard.caution)}


def _count(pool: ScoreMatrix) -> str:
    clips = max(map(len, pool.clips.values()))
    return count_of(clips, "clip")


def _cell(name: str, row: Mapping[str, Any], levels: Mapping[str, Category]) -> Cell:
    if name == "siq":
        return Cell(row["siq"], interval=row["siq_interval"])
    if name not in row["categories"]:
        return Cell()
    of = row["categories"][name]
    return Cell(levels[name].measure.show_score(of["score"]), of["z"])
