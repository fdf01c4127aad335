"""Show the origin of the numbers: the tasks, and what each system recorded of itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, NamedTuple

from speechiq.core.console import count_of
from speechiq.reducer.report.study import Study
from speechiq.reducer.runs.conditions import read_conditions
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.systems import System
from speechiq.reducer.tables.origin import run_dates, run_versions


class Asked(NamedTuple):
    """A task as it was asked.

    Attributes:
        task: Name of the task.
        level: Name of its level.
        conditions: What scores depend on in addition to the system, in words.
        systems: Number of systems that were asked this.
    """

    task: str
    level: str
    conditions: str
    systems: int


def made(study: Study, command: str) -> dict[str, str]:
    """Return the origin of the page for its head: data sets, dates and versions of the runs, and what made the page.

    Args:
        study: The systems and their clips.
        command: The command that makes the page; "" leaves it out.
    """
    clips = Counter(clip.dataset or "unnamed" for clip in study.clips)
    return made_of(tasks_of(study.scoreboard.systems), command, clips)


def tasks_of(systems: Iterable[System]) -> list[TaskRun]:
    """Return the tasks of some systems."""
    return [task for system in systems for task in system.tasks]


def made_of(tasks: Sequence[TaskRun], command: str, clips: Mapping[str, int] | None = None) -> dict[str, str]:
    """Return `made` of some tasks.

    Args:
        tasks: The tasks.
        command: As for `made`.
        clips: Data set -> number of clips; None leaves the data out.
    """
    days = [date.partition("T")[0] for date in run_dates(tasks)]
    facts = {
        "Data": ", ".join(f"{name} ({count_of(count, 'clip')})" for name, count in sorted((clips or {}).items())),
        "Runs": " to ".join(dict.fromkeys(days)),
        "Run with": ", ".join(f"{package} {' and '.join(of)}" for package, of in run_versions(tasks).items()),
        "Page": f"speechiq {version('speechiq')}, {datetime.now(UTC):%Y-%m-%d}",
        "Command": command,
    }
    return {name: text for name, text in facts.items() if text}


def tasks(systems: Sequence[System]) -> list[Asked]:
    """Return the tasks of all systems; a task that was asked in several ways is listed once for each."""
    counts = Counter(_words(task.level, read_conditions(task)) for system in systems for task in system.tasks)
    return [Asked(*key, count) for key, count in sorted(counts.items())]


def _words(level: str, conditions: Mapping[str, Any]) -> tuple[str, str, str]:
    shown = {field: value for field, value in conditions.items() if field != "task" and value is not None}
    return str(conditions["task"]), level, ", ".join(f"{field} {value}" for field, value in shown.items())
