"""Read the numbers of all tasks in runs, after checking that the systems ran on equal terms."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from speechiq.reducer.runs.conditions import compare_systems, summarize
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import Item
from speechiq.reducer.runs.samples import SampleTable, join_clusters, read_table
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.tasks import categories_of, find_tasks, group, name_control
from speechiq.reducer.scores.comparability import require_equal


class Tables(NamedTuple):
    """Hold the numbers of all tasks, and one warning per choice that was made between runs."""

    columns: list[SampleTable]
    warnings: list[str]

    @property
    def tasks(self) -> list[TaskRun]:
        """Return the tasks."""
        return [table.task for table in self.columns]

    @property
    def controls(self) -> dict[str, str]:
        """Return the name of each control -> `gold`, `silence` or `letter:X`."""
        return {task.system: control for task in self.tasks if (control := name_control(task.described))}

    @property
    def clusters(self) -> dict[str, str]:
        """Return clip -> its cluster, for clips that have one."""
        return join_clusters(self.columns)

    @property
    def items(self) -> dict[str, set[Item]]:
        """Return system -> the items that it ran."""
        items: dict[str, set[Item]] = {}
        for table in self.columns:
            items.setdefault(table.task.system, set()).update(table.items)
        return items


def read_tables(runs: Iterable[Path], allow_missing: bool = False, allow_mismatch: bool = False) -> Tables:
    """Read every task in folders or results files; refuse systems on other clips, unless `allow_mismatch`."""
    tasks, warnings = find_tasks(runs, allow_missing)
    mismatches = [mismatch for suite in group(tasks).values() for mismatch in compare_systems(_systems(suite))]
    if mismatches and allow_mismatch:
        warnings = [*warnings, f"not on equal terms: {summarize(mismatches)}"]
    else:
        require_equal(mismatches)
    return Tables([read_table(task, columns=task.signs) for task in tasks], warnings)


def _systems(tasks: list[TaskRun]) -> list[System]:
    """Return the systems of one suite, without scores."""
    levels = categories_of(tasks)
    names = dict.fromkeys(task.system for task in tasks)
    return [
        System(name, {}, tasks=tuple(task for task in tasks if task.system == name), levels=levels) for name in names
    ]
