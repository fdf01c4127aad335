"""Carry out `siq compare --references`: how much of each error rate comes from errors of the references."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from speechiq.cli.options import PIPE_WIDTH, read, read_set
from speechiq.cli.outputs import Output
from speechiq.core.console import say
from speechiq.core.files import write_whole
from speechiq.reducer.show.origin import origin
from speechiq.reducer.show.records import FIX, as_text
from speechiq.reducer.show.references_table import as_table
from speechiq.reducer.siq import references
from speechiq.reducer.siq.levels import choose_levels

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
    unit = levels[references.LEVEL].unit
    Console(width=None if sys.stdout.isatty() else PIPE_WIDTH).print(as_table(rows, unit))
    content = {"references": [references.as_record(row) for row in rows]}
    tasks = [task for system in systems for task in system.tasks]
    for file in outputs:
        write_whole(file.path, as_text(content | origin(SCHEMA, runs, tasks)).encode(errors="backslashreplace"), FIX)
        say(f"wrote {file.path}")
