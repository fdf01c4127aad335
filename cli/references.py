"""Carry out `siq compare --references`: how much of each error rate comes from errors of the references."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from speechiq.cli.options import read, read_set
from speechiq.reducer.scores.levels import choose_levels
from speechiq.reducer.studies import references
from speechiq.reducer.tables.publish import Output, Publication, publish

SCHEMA = "speechiq-references"


def compare_references(
    runs: list[Path],
    measures: Sequence[str] | None,
    draws: int,
    seed: int,
    allow_missing: bool,
    outputs: Sequence[Output],
) -> None:
    """Print and write the error rates of each system on original and cleaned references.

    Args:
        runs: Folders of runs.
        measures: From `--measure`; the one of Remember counts.
        draws: Draws of clips for the intervals.
        seed: Of the draws.
        allow_missing: Whether runs without a results file are left out.
        outputs: JSON files to write.

    Raises:
        SpeechIQError: The runs cannot be read, or have no set in both versions.
    """
    levels = choose_levels(measures or (), references.LEVEL)
    systems = read(runs, read_set(None), allow_missing, levels=levels)
    rows = references.compare_references(systems, draws, seed)
    grid = references.as_grid(rows, levels[references.LEVEL].unit)
    tasks = [task for system in systems for task in system.tasks]
    publish(Publication(SCHEMA, [grid], {"references": grid.rows}), outputs, runs, tasks)
