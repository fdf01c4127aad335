"""Where the numbers come from: the tasks, and what each system recorded of itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from speechiq.reducer.conditions import read_conditions
from speechiq.reducer.runs import System


class Asked(NamedTuple):
    """A task as it was asked.

    Attributes:
        task: Its name.
        level: A key of `LEVELS`.
        told: What scores hang on beside the system, in words.
        systems: How many were asked this.
    """

    task: str
    level: str
    told: str
    systems: int


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


def _words(level: str, conditions: dict) -> tuple[str, str, str]:
    told = {field: value for field, value in conditions.items() if field != "task" and value is not None}
    return str(conditions["task"]), level, ", ".join(f"{field} {value}" for field, value in told.items())
