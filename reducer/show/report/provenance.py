"""Where the numbers come from: the tasks, and what each system recorded of itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, NamedTuple

from speechiq.reducer.read.conditions import read_conditions
from speechiq.reducer.read.results_file import TaskRun
from speechiq.reducer.read.runs import System
from speechiq.reducer.show.report.study import Study


class Asked(NamedTuple):
    """A task as it was asked.

    Attributes:
        task: Its name.
        level: Name of its level.
        told: What scores hang on beside the system, in words.
        systems: How many were asked this.
    """

    task: str
    level: str
    told: str
    systems: int


def made(study: Study, command: str) -> dict[str, str]:
    """Return what the head of the page says of its origin: data sets, dates and versions of the runs, and what made
    the page.

    Args:
        study: The systems and their clips.
        command: The command that makes the page; "" leaves it out.
    """
    clips = Counter(clip.dataset or "unnamed" for clip in study.clips)
    return made_of(study.ranking.context.systems, command, clips)


def made_of(systems: Sequence[System], command: str, clips: Mapping[str, int] | None = None) -> dict[str, str]:
    """Return `made` of some systems.

    Args:
        systems: With their tasks.
        command: As for `made`.
        clips: Data set -> number of clips; None leaves the data out.
    """
    tasks = [task for system in systems for task in system.tasks]
    days = sorted({f"{datetime.fromtimestamp(task.date, UTC):%Y-%m-%d}" for task in tasks})
    facts = {
        "Data": ", ".join(f"{name} ({count} clips)" for name, count in sorted((clips or {}).items())),
        "Runs": " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "",
        "Run with": ", ".join(f"{package} {' and '.join(of)}" for package, of in sorted(_versions(tasks).items())),
        "Page": f"speechiq {version('speechiq')}, {datetime.now(UTC):%Y-%m-%d}",
        "Command": command,
    }
    return {name: text for name, text in facts.items() if text}


def _versions(tasks: Iterable[TaskRun]) -> dict[str, list[str]]:
    """Return package -> its versions in the runs, each once."""
    found: dict[str, set[str]] = {}
    for task in tasks:
        for package, of in task.versions.items():
            found.setdefault(package, set()).add(of)
    return {package: sorted(of) for package, of in found.items()}


def tasks(systems: Sequence[System]) -> list[Asked]:
    """The tasks of all systems; one that was asked in several ways stands there once for each."""
    counts = Counter(_words(task.level, read_conditions(task)) for system in systems for task in system.tasks)
    return [Asked(*key, count) for key, count in sorted(counts.items())]


def descriptions(systems: Sequence[System]) -> dict[str, str]:
    """system -> when it ran and, as JSON, what it recorded of itself then; older runs first."""
    return {
        system.name: "\n".join(
            f"{datetime.fromtimestamp(date, UTC):%Y-%m-%d %H:%M} UTC {told}"
            for date, told in sorted({(task.date, json.dumps(task.described, indent=2)) for task in system.tasks})
        )
        for system in systems
    }


def _words(level: str, conditions: Mapping[str, Any]) -> tuple[str, str, str]:
    told = {field: value for field, value in conditions.items() if field != "task" and value is not None}
    return str(conditions["task"]), level, ", ".join(f"{field} {value}" for field, value in told.items())
