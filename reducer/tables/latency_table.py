"""Show how soon the systems answered: quantiles of the times until the first token, the first audio and the end."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from speechiq.core.console import count_of
from speechiq.metrics.latency import FACTOR, FIRST_AUDIO, FIRST_TOKEN, TOTAL
from speechiq.reducer.runs.latencies import Latencies
from speechiq.reducer.stats.bootstrap import describe_samples, resample
from speechiq.reducer.stats.coverage import caution_of_estimates
from speechiq.reducer.stats.grid import INTERVAL, Column, Grid, Important
from speechiq.reducer.stats.quantile import quantiles

#: Column of the rows -> its name in tables.
NAMES = {
    FIRST_TOKEN: "first token, s",
    FIRST_AUDIO: "first audio, s",
    TOTAL: "total, s",
    FACTOR: "real-time factor",
}
SHARES = {"p50": 0.5, "p95": 0.95}
NOTES = (
    "times from the request on; of a cascade those of its language model, from the transcript on",
    "real-time factor: total / seconds of the spoken answer, or of the clip if the answer is written",
    "at once: most requests under way together; models of transformers answer one question after the other",
    "warm-up: answers requested before the first one had ended, which are left out",
    "compare only runs on the same device with the same requests at once",
)


def as_grid(latencies: Sequence[Latencies], draws: int) -> Grid:
    """Return a grid with one row per system, type of task and kind of time."""
    bars = f"\n{INTERVAL}" * bool(draws)
    columns = (
        Column("system", "System"),
        Column("task_type", "Task"),
        Column("time", "Time"),
        *(Column(name, name + bars, ".3f") for name in SHARES),
        Column("timed", "Timed", "d"),
        Column("warm_up", "Warm-up", "d"),
        Column("cached", "Cached", "d"),
        Column("at_once", "At once", "d"),
    )
    rows = [row for latency in latencies for row in _as_rows(latency, draws)]
    notes = [Important(_warn(latency)) for latency in latencies if latency.cached]
    caution = caution_of_estimates(row.get("p50") for row in rows) if draws else None
    intervals = [describe_samples(draws, 0)] if draws else []
    return Grid("Latency", columns, rows, [*notes, *filter(None, [caution]), *NOTES, *intervals])


def _as_rows(latency: Latencies, draws: int) -> list[dict[str, Any]]:
    """Return a row per kind of time that some answer has; that of the total always."""
    counts = {"warm_up": latency.warm_up, "cached": latency.cached, "at_once": latency.at_once}
    rows = []
    for name, heading in NAMES.items():
        is_timed = ~np.isnan(latency.times[name])
        row = {"system": latency.system, "task_type": latency.task_type, "time": heading, "timed": int(is_timed.sum())}
        if is_timed.any():
            clips = [clip for clip, known in zip(latency.clips, is_timed, strict=True) if known]
            statistic = quantiles(latency.times[name][is_timed], [*SHARES.values()])
            drawn = resample(statistic, clips, latency.clusters, draws=draws)
            row |= zip(SHARES, drawn.estimates, strict=True)
        if is_timed.any() or name == TOTAL:
            rows.append(row | counts)
    return rows


def _warn(latency: Latencies) -> str:
    return (
        f"{latency.system}, {latency.task_type}: {latency.cached} of {count_of(len(latency.clips), 'answer')} came "
        "from the response cache and have no time; run it with store=off"
    )
