"""Show the BLEU of translations beside a scoreboard: of all clips of a data set together, with its interval."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from speechiq.engines.languages import KEY
from speechiq.metrics.translation import COUNTS, TARGET, bleu_of_counts, sum_counts
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import join_clusters, read_sample_table
from speechiq.reducer.stats.bootstrap import Statistic, describe_samples, resample
from speechiq.reducer.stats.grid import Column, Grid

#: Key of metadata that tasks of translation record.
SIGNATURE = "bleu_signature"
NOTES = (
    "BLEU of all clips of a data set together, by the counts in its rows; a draw has the BLEU of the clips in it",
    "compare only systems on the same data set, with the same signature of sacrebleu",
)


def translation_grids(tasks: Iterable[TaskRun], draws: int) -> list[Grid]:
    """Return the grid with a row per data set and system, the highest BLEU first; none for runs without translations.

    Args:
        tasks: All tasks of some runs, of which those that translate are shown.
        draws: Number of draws of clips for the intervals; 0 leaves them out.
    """
    rows = [_describe(task, draws) for task in tasks if SIGNATURE in task.metadata]
    if not rows:
        return []
    rows.sort(key=lambda row: (row["dataset"], -row["bleu"].value, row["system"]))
    columns = [
        Column("dataset", "Data set"),
        Column("direction", "Direction"),
        Column("system", "System"),
        Column("bleu", "BLEU\n%", ".2f", ".1f", factor=100.0),
        Column("clips", "Clips", "d"),
        Column("signature"),
    ]
    return [Grid("Translation: BLEU", columns, rows, _list_notes(rows, draws))]


def _list_notes(rows: list[dict[str, Any]], draws: int) -> list[str]:
    signatures = sorted({row["signature"] for row in rows})
    notes = [*(f"signature of sacrebleu: {signature}" for signature in signatures), *NOTES]
    return [*notes, describe_samples(draws, 0)] if draws else notes


def _describe(task: TaskRun, draws: int) -> dict[str, Any]:
    """Return the row of one task: its data set, direction, system and BLEU."""
    table = read_sample_table(task, columns=COUNTS)
    counts = np.column_stack([table.number(name) for name in COUNTS])
    found = resample(pooled_bleu(counts), table["clip"].tolist(), join_clusters([table]), draws=draws)
    return {
        "dataset": task.dataset,
        "direction": f"{task.metadata.get(KEY) or '?'} to {task.metadata.get(TARGET)}",
        "system": task.system,
        "bleu": found.estimate,
        "clips": found.clips,
        "signature": task.metadata[SIGNATURE],
    }


def pooled_bleu(counts: np.ndarray) -> Statistic:
    """Return the statistic that computes BLEU from the counts of clips, shape (clips, 6).

    >>> pooled_bleu(np.array([[5.0, 3, 2, 1, 5, 6], [0, 0, 0, 0, 0, 4]]))(np.array([[1, 0], [0, 2]])).round(4).tolist()
    [0.5789, 0.0]
    """

    def statistic(times: np.ndarray) -> np.ndarray:
        return np.array([bleu_of_counts(sums) for sums in sum_counts(counts, times)])

    return statistic
