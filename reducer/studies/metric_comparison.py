"""Compare two systems on any metrics of their sample rows, on the same draws of clips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.conditions import compare_systems
from speechiq.reducer.runs.rows import Item
from speechiq.reducer.runs.samples import SampleTable, join_columns, read_table
from speechiq.reducer.runs.texts import can_pool, read_lengths
from speechiq.reducer.scores import comparability
from speechiq.reducer.studies import coupled
from speechiq.reducer.studies.coupled import Coupled, Paired
from speechiq.reducer.studies.pairs import Pair


def compare_metrics(
    pairs: Sequence[Pair], metrics: Sequence[str], *, allow_mismatch: bool = False, draws: int = 1000, seed: int = 0
) -> Coupled:
    """Compare two systems on metrics that any of their suites has.

    Args:
        pairs: The two systems, once for each suite.
        metrics: Columns of the sample rows whose direction is known; those of questions are averaged by clip.
        allow_mismatch: Whether the systems may have been run on different clips or task versions.
        draws: Number of draws of clips.
        seed: Of the draws.

    Raises:
        SpeechIQError: A metric is unknown or named twice, the systems ran on different terms and that is not allowed,
            they share no clip, or as for `coupled.compare`.
    """
    if not allow_mismatch:
        comparability.require_equal([found for pair in pairs for found in compare_systems(pair.both)])
    one, other = (
        [read_table(task, columns=task.signs) for pair in pairs for task in pair.both[side].tasks] for side in (0, 1)
    )
    signs = {name: table.task.signs[name] for table in (*one, *other) for name in table.signed}
    for name in metrics:
        if name not in signs:
            near = did_you_mean(name, signs)
            raise SpeechIQError(f"--metrics: no column {name!r} in these runs; {near}choose from {', '.join(signs)}")
    if len(set(metrics)) < len(metrics):
        raise SpeechIQError(f"--metrics {','.join(metrics)}: a metric is named twice; name each once")
    values = {name: (_by_clip(one, name), _by_clip(other, name)) for name in metrics}
    clips = sorted(set.intersection(*(set(of) for both in values.values() for of in both)))
    if not clips and metrics:
        raise SpeechIQError(f"--metrics {','.join(metrics)}: the two systems share no clip with all of these")
    tasks = [table.task for table in one]
    paired = {}
    for name, both in values.items():
        a, b = (np.array([of[clip] for clip in clips]) for of in both)
        lengths = read_lengths(tasks, name) if can_pool(name) else {}
        weights = np.array([lengths.get(clip, 1.0) for clip in clips])
        paired[name] = Paired(a, b, weights, signs[name], can_pool(name))
    names = pairs[0].a.name, pairs[0].b.name
    return coupled.compare(*names, paired, draws, seed)


def _by_clip(tables: Sequence[SampleTable], name: str) -> dict[Item, float]:
    """Return clip -> the mean of a column over its items."""
    values: dict[Item, list[float]] = {}
    for (_, item), value in join_columns(tables, name).items():
        values.setdefault(item[:1], []).append(value)
    return {clip: float(np.mean(of)) for clip, of in values.items()}
