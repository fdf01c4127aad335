"""Describe each system on a page of its own: its runs, settings, scores, and the clips it does worst on."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import printable
from speechiq.reducer.report.identity import Identity
from speechiq.reducer.report.leaderboard import Row, Scores, system_table
from speechiq.reducer.report.page import link
from speechiq.reducer.report.study import Study
from speechiq.reducer.runs.conditions import read_conditions
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.run_record import RunRecord, read_record
from speechiq.reducer.runs.systems import System
from speechiq.reducer.stats.grid import Cell, Column, Grid
from speechiq.reducer.tables.scoreboard_table import FLAGS

WORST = 5
ROUNDING = 1e-9


class SystemPage(NamedTuple):
    """Describe what the page shows of one system.

    Attributes:
        label: Its short name.
        facts: Its rank and shares of failures, in words.
        runs: Its runs, newest first.
        settings: What the newest run recorded of the system.
        worst: The clips with the lowest raw scores of each level, worst first, without those at the best score of all.
    """

    name: str
    label: str
    facts: dict[str, str]
    runs: list[RunRecord]
    settings: dict[str, str]
    scores: Grid
    worst: list[Grid]


def pages(study: Study, rows: Sequence[Row], scores: Scores) -> list[SystemPage]:
    """Return a page per system, in the order of the leaderboard."""
    found = []
    ranked = sum(not identity.control for identity in study.identities)
    for row in rows:
        name = row["system"]
        place = study.names.index(name)
        system = study.scoreboard.systems[place]
        rank = "" if row["rank"] is None else f"{row['rank']} of {ranked}"
        facts = _facts(row, study.identities[place], rank)
        worst = [_worst(study, level, place) for level in study.levels]
        settings = dict(flatten_settings(_newest(system.tasks)))
        table = system_table(study, scores, name)
        found.append(SystemPage(name, study.labels[place], facts, [*_runs(system)], settings, table, worst))
    return found


def _facts(row: Row, identity: Identity, rank: str) -> dict[str, str]:
    facts = {"Rank": rank, "Kind": identity.kind, "Audio encoder": identity.encoder, "Control": identity.control}
    for flag, (label, meaning) in FLAGS.items():
        if row["flags"][flag] is not None:
            facts[label] = f"{100 * row['flags'][flag]:.1f} %: share of {meaning}"
    return {name: text for name, text in facts.items() if text}


def list_tasks(systems: Iterable[System]) -> list[TaskRun]:
    """Return the tasks of some systems."""
    return [task for system in systems for task in system.tasks]


def task_table(systems: Iterable[System]) -> Grid:
    """Return the table of all tasks and what their scores depend on; a row for each way in which a task was asked."""
    counts = Counter(_describe(task) for task in list_tasks(systems))
    columns = [
        Column("task", "Task"),
        Column("level", "Level"),
        Column("conditions", "Asked with", kind="words"),
        Column("systems", "Systems", "d"),
    ]
    rows: list[dict[str, Cell]] = [
        {"task": task, "level": level.title(), "conditions": conditions, "systems": count}
        for (task, level, conditions), count in sorted(counts.items())
    ]
    return Grid("Tasks", columns, rows)


def _describe(task: TaskRun) -> tuple[str, str, str]:
    conditions = read_conditions(task)
    shown = {field: value for field, value in conditions.items() if field != "task" and value is not None}
    return str(conditions["task"]), task.level, ", ".join(f"{field} {value}" for field, value in shown.items())


def _runs(system: System) -> Iterator[RunRecord]:
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
        yield RunRecord(record.command, {name: text for name, text in facts.items() if text})


def _newest(tasks: Sequence[TaskRun]) -> Mapping[str, Any]:
    return max(tasks, key=lambda task: task.date).described if tasks else {}


def flatten_settings(described: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield settings with the path that leads to them.

    >>> dict(flatten_settings({"asr": {"model": "w", "languages": ["en"]}}))
    {'asr, model': 'w', 'asr, languages': 'en'}
    """
    match described:
        case dict():
            for key, value in described.items():
                yield from flatten_settings(value, f"{name}, {key}" if name else str(key))
        case list():
            yield name, ", ".join(map(str, described))
        case None:
            yield name, "none"
        case bool():
            yield name, "yes" if described else "no"
        case _:
            yield name, str(described)


def _worst(study: Study, level: str, row: int) -> Grid:
    pool = study.scoreboard.pool
    raw, names, category = pool.raw[level], pool.clips[level], pool.levels[level]
    mean, best = raw[study.listening].mean(axis=0), raw.max()
    columns = [Column("clip", "Clip"), Column("value", "this system", ".1f"), Column("mean", "mean", ".1f")]
    rows = [
        {"clip": link("clip", names[i]), "value": category.show(raw[row, i]), "mean": category.show(mean[i])}
        for i in np.argsort(raw[row], kind="stable")[:WORST]
        if raw[row, i] < best - ROUNDING
    ]
    return Grid(f"{level.title()}, {category.unit}", columns, rows)
