"""Describe each system on a page of its own: its runs, settings, scores, and the clips it does worst on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import printable
from speechiq.reducer.report.data import Standing
from speechiq.reducer.report.sets import Cell, SetTable
from speechiq.reducer.report.study import Study
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.run_record import read_record
from speechiq.reducer.runs.systems import System

WORST = 5
ROUNDING = 1e-9


class RunFacts(NamedTuple):
    """One run of a system.

    Attributes:
        command: A command that makes the same run; "" if the results file does not name a model type.
        facts: Name of a setting in words -> its value.
    """

    command: str
    facts: dict[str, str]


class WorstClip(NamedTuple):
    """A clip on which a system scores badly; the mean is over the systems that listen; shown units."""

    clip: str
    value: float
    mean: float


class SystemPage(NamedTuple):
    """What the page shows of one system.

    Attributes:
        row: Its row of the leaderboard.
        runs: Its runs, newest first.
        settings: Name of a setting -> its value, as the newest run recorded them of the system.
        sets: Name of a score -> its cells, one per column of `SetTable.columns`; empty if there is one set.
        worst: Level -> the clips with the lowest raw scores, worst first, without those at the best score of all.
    """

    row: Standing
    runs: list[RunFacts]
    settings: dict[str, str]
    sets: dict[str, list[Cell]]
    worst: dict[str, list[WorstClip]]


def pages(study: Study, rows: Sequence[Standing], tables: Sequence[SetTable]) -> list[SystemPage]:
    """Return a page per system, in the order of the leaderboard.

    Args:
        study: The systems.
        rows: The leaderboard.
        tables: The scores on each data set.

    Raises:
        SpeechIQError: A results file cannot be read.
    """
    systems = {system.name: system for system in study.scoreboard.systems}
    return [
        SystemPage(
            row,
            [*_runs(systems[row.name])],
            dict(_flatten(_newest(systems[row.name].tasks))),
            {table.name: table.cells[row.name] for table in tables},
            {level: _worst(study, level, study.names.index(row.name)) for level in study.levels},
        )
        for row in rows
    ]


def _runs(system: System) -> Iterator[RunFacts]:
    by_file: dict[str, list[TaskRun]] = {}
    for task in sorted(system.tasks, key=lambda task: (-task.date, task.results)):
        by_file.setdefault(task.results, []).append(task)
    for results, tasks in by_file.items():
        path, names = Path(results), sorted({task.task for task in tasks})
        record = read_record(path, names)
        facts = {
            "Date": f"{datetime.fromtimestamp(tasks[0].date, UTC):%Y-%m-%d %H:%M} UTC",
            "Tasks": ", ".join(map(printable, names)),
            **record.facts,
            "Versions": ", ".join(f"{package} {version}" for package, version in tasks[0].versions.items()),
            "Results file": printable(str(Path(path.parent.name, path.name))),
        }
        yield RunFacts(record.command, {name: text for name, text in facts.items() if text})


def _newest(tasks: Sequence[TaskRun]) -> Mapping[str, Any]:
    return max(tasks, key=lambda task: task.date).described if tasks else {}


def _flatten(described: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield settings with the path that leads to them.

    >>> dict(_flatten({"asr": {"model": "w", "languages": ["en"]}}))
    {'asr, model': 'w', 'asr, languages': 'en'}
    """
    match described:
        case dict():
            for key, value in described.items():
                yield from _flatten(value, f"{name}, {key}" if name else str(key))
        case list():
            yield name, ", ".join(map(str, described))
        case None:
            yield name, "none"
        case bool():
            yield name, "yes" if described else "no"
        case _:
            yield name, str(described)


def _worst(study: Study, level: str, row: int) -> list[WorstClip]:
    pool, show = study.scoreboard.pool, study.scoreboard.levels[level].show
    raw, names = pool.raw[level], pool.clips[level]
    mean, best = raw[study.listening].mean(axis=0), raw.max()
    return [
        WorstClip(names[i], float(show(raw[row, i])), float(show(mean[i])))
        for i in np.argsort(raw[row], kind="stable")[:WORST]
        if raw[row, i] < best - ROUNDING
    ]
