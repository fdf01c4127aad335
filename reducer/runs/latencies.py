"""Read the times of answers from the rows of runs that timed them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from speechiq.metrics.latency import AT_ONCE, CACHED, TIMES, WARM_UP
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import join_clusters, read_table
from speechiq.siq_tasks.conditions.variants import TIMING


class Latencies(NamedTuple):
    """Hold the times of one system's answers to all tasks of one type.

    Attributes:
        clips: Clip of each answer.
        clusters: Clip -> its cluster, for clips that share one.
        times: Column of `TIMES` -> seconds per answer; NaN for an answer without it.
        at_once: Most requests that were under way together.
    """

    system: str
    task_type: str
    clips: tuple[str, ...]
    clusters: dict[str, str]
    times: dict[str, np.ndarray]
    warm_up: int
    cached: int
    at_once: int


def read_latencies(tasks: Iterable[TaskRun]) -> list[Latencies]:
    """Return the times by system and type of task; tasks that were not timed have none."""
    groups: dict[tuple[str, str], list[TaskRun]] = {}
    for task in tasks:
        if task.metadata.get(TIMING):
            task_type = task.metadata.get("task_type", task.metadata.get("level"))
            groups.setdefault((task.system, str(task_type)), []).append(task)
    return [_read(system, task_type, group) for (system, task_type), group in sorted(groups.items())]


def _read(system: str, task_type: str, tasks: Iterable[TaskRun]) -> Latencies:
    columns = (*TIMES, WARM_UP, CACHED, AT_ONCE)
    tables = [read_table(task, columns=columns) for task in tasks]
    values = {
        name: np.concatenate([table.columns.get(name, np.full(len(table.items), np.nan)) for table in tables])
        for name in columns
    }
    return Latencies(
        system,
        task_type,
        tuple(item[0] for table in tables for item in table.items),
        join_clusters(tables),
        {name: values[name] for name in TIMES},
        int(np.nansum(values[WARM_UP])),
        int(np.nansum(values[CACHED])),
        int(np.nanmax(values[AT_ONCE], initial=0)),
    )
