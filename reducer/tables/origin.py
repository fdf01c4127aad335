"""Describe the origin of a file of results: versions, dates, runs and command."""

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from speechiq.core.console import printable
from speechiq.reducer.runs.results_file import TaskRun

SCHEMA_VERSION = 1


def origin(schema: str, runs: Iterable[Path], tasks: Sequence[TaskRun] = ()) -> dict[str, Any]:
    """Return the keys that every JSON file of results has in addition to its results."""
    return {
        "schema": schema,
        "schema_version": SCHEMA_VERSION,
        "speechiq": version("speechiq"),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "runs": [printable(str(run)) for run in runs],
        "command": command_line(),
        "run_dates": run_dates(tasks),
        "run_versions": run_versions(tasks),
        "datasets": sorted({task.dataset for task in tasks}),
    }


def as_columns(about: Mapping[str, Any]) -> dict[str, str]:
    """Return `origin` as cells of a CSV file, lists with semicolons between their parts.

    >>> as_columns({"date": "2026-01-01", "runs": ["a", "b"], "run_versions": {"lm-eval": ["0.4.12", "0.4.13"]}})
    {'date': '2026-01-01', 'runs': 'a; b', 'run_versions': 'lm-eval 0.4.12; lm-eval 0.4.13'}
    """
    return {name: _cell(value) for name, value in about.items()}


def run_dates(tasks: Iterable[TaskRun]) -> list[str]:
    """Return when the first and the last run began, UTC; empty without tasks."""
    dates = [task.date for task in tasks]
    ends = (min(dates), max(dates)) if dates else ()
    return [datetime.fromtimestamp(date, UTC).isoformat(timespec="seconds") for date in ends]


def run_versions(tasks: Iterable[TaskRun]) -> dict[str, list[str]]:
    """Return package -> its versions in the runs, each once."""
    found: dict[str, set[str]] = {}
    for task in tasks:
        for package, number in task.versions.items():
            found.setdefault(package, set()).add(number)
    return {package: sorted(found[package]) for package in sorted(found)}


def command_line() -> str:
    """Return the `siq` command that runs, as a user would type it."""
    return printable(shlex.join(["siq", *sys.argv[1:]]))


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{package} {number}" for package, numbers in value.items() for number in numbers)
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)
