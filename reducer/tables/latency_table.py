"""Show how soon the systems answered: quantiles of the times until the first token, the first audio and the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.metrics.latency import AT_ONCE, CACHED, FACTOR, FIRST_AUDIO, FIRST_TOKEN, TIMES, TOTAL, WARM_UP
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import join_clusters, read_table
from speechiq.reducer.stats.bootstrap import Statistic, describe_samples, resample
from speechiq.reducer.stats.grid import INTERVAL, Column, Grid, Important, caution_of_estimates
from speechiq.siq_tasks.conditions.variants import TIMING

#: Column of the rows -> its name in tables.
NAMES = {
    FIRST_TOKEN: "first token, s",
    FIRST_AUDIO: "first audio, s",
    TOTAL: "total, s",
    FACTOR: "real-time factor",
}
SHARES = {"p50": 0.5, "p95": 0.95}
#: What rounding may add to a share of counts.
ROUNDING = 1e-9
NOTES = (
    "times from the request on; of a cascade those of its language model, from the transcript on",
    "real-time factor: total / seconds of the spoken answer, or of the clip if the answer is written",
    "at once: most requests under way together; models of transformers answer one question after the other",
    "warm-up: answers requested before the first one had ended, which are left out",
    "compare only runs on the same device with the same requests at once",
)


class Latencies(NamedTuple):
    """Hold the times of one system's answers to all tasks of one type.

    Attributes:
        clips: Clip of each answer.
        columns: Columns of the rows -> values, NaN for an answer without one.
    """

    system: str
    task_type: str
    clips: tuple[str, ...]
    clusters: dict[str, str]
    columns: dict[str, np.ndarray]

    def times(self, name: str) -> np.ndarray:
        """Return the times of the answers that have this one."""
        times: np.ndarray = self.columns[name][~np.isnan(self.columns[name])]
        return times


def read_latencies(tasks: Iterable[TaskRun]) -> list[Latencies]:
    """Return the times by system and type of task; tasks that were not timed have none."""
    groups: dict[tuple[str, str], list[TaskRun]] = {}
    for task in tasks:
        if task.metadata.get(TIMING):
            task_type = task.metadata.get("task_type", task.metadata.get("level"))
            groups.setdefault((task.system, str(task_type)), []).append(task)
    return [_read(system, task_type, group) for (system, task_type), group in sorted(groups.items())]


def _read(system: str, task_type: str, tasks: Iterable[TaskRun]) -> Latencies:
    names = (*TIMES, WARM_UP, CACHED, AT_ONCE)
    tables = [read_table(task, columns=names) for task in tasks]
    absent = [np.full(len(table.items), np.nan) for table in tables]
    columns = {
        name: np.concatenate([table.columns.get(name, none) for table, none in zip(tables, absent, strict=True)])
        for name in names
    }
    clips = tuple(item[0] for table in tables for item in table.items)
    return Latencies(system, task_type, clips, join_clusters(tables), columns)


def as_grid(latencies: Sequence[Latencies], draws: int) -> Grid:
    """Return a grid with one row per system, type of task and kind of time."""
    bars = f"\n{INTERVAL}" * bool(draws)
    counts = {"timed": "Timed", "warm_up": "Warm-up", "cached": "Cached", "at_once": "At once"}
    columns = (
        Column("system", "System"),
        Column("task_type", "Task"),
        Column("time", "Time"),
        *(Column(name, name + bars, ".3f") for name in SHARES),
        *(Column(name, heading, "d") for name, heading in counts.items()),
    )
    rows = [row for latency in latencies for row in _as_rows(latency, draws)]
    notes: list[str] = [
        Important(
            f"{row['system']}, {row['task_type']}: {row['cached']} of {count_of(row['answers'], 'answer')} came from "
            "the response cache and have no time; run it with store=off"
        )
        for row in rows
        if row["cached"] and row["time"] == NAMES[TOTAL]
    ]
    caution = caution_of_estimates(row.get("p50") for row in rows) if draws else None
    intervals = [describe_samples(draws, 0)] if draws else []
    return Grid("Latency", columns, rows, [*notes, *filter(None, [caution]), *NOTES, *intervals])


def _as_rows(latency: Latencies, draws: int) -> list[dict[str, Any]]:
    """Return a row per kind of time that some answer has; that of the total always."""
    about = {"system": latency.system, "task_type": latency.task_type, "answers": len(latency.clips)}
    about |= {"warm_up": int(np.nansum(latency.columns[WARM_UP])), "cached": int(np.nansum(latency.columns[CACHED]))}
    about |= {"at_once": int(np.nanmax(latency.columns[AT_ONCE], initial=0))}
    rows = []
    for name, heading in NAMES.items():
        times = latency.times(name)
        row = about | {"time": heading, "timed": len(times)}
        if len(times):
            clips = [latency.clips[place] for place in np.flatnonzero(~np.isnan(latency.columns[name]))]
            statistic = quantiles(times, [*SHARES.values()])
            row |= zip(SHARES, resample(statistic, clips, latency.clusters, draws=draws).estimates, strict=True)
        if len(times) or name == TOTAL:
            rows.append(row)
    return rows


def quantiles(values: np.ndarray, shares: Sequence[float]) -> Statistic:
    """Return the statistic of the smallest values that at least these shares of the items do not exceed.

    >>> quantiles(np.array([3.0, 1.0, 2.0, 4.0]), [0.5, 0.95])(np.array([[1, 1, 1, 1], [0, 4, 0, 0]])).tolist()
    [[2.0, 4.0], [1.0, 1.0]]
    """
    order = np.argsort(values)
    ranked = values[order]

    def statistic(counts: np.ndarray) -> np.ndarray:
        below = counts[:, order].cumsum(axis=1)
        places = [(below < share * below[:, -1:] - ROUNDING).sum(axis=1) for share in shares]
        drawn: np.ndarray = ranked[np.stack(places, axis=1)]
        return drawn

    return statistic
