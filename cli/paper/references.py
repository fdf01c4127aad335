"""Define `siq paper references`: how much of each error rate comes from errors of the references."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Force, Runs, Samples, Seed, output_option, split_names
from speechiq.cli.scoring.options import Metrics, read, read_set
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.levels import choose_levels
from speechiq.reducer.studies.references import LEVEL, as_grid, compare_references
from speechiq.reducer.tables.publish import Publication, list_outputs, publish

SCHEMA = "speechiq-references"


@examples("siq paper references runs/voxpopuli", "siq paper references runs/voxpopuli --output references.json")
def references(
    runs: Runs,
    output: Annotated[list[Path] | None, output_option("File to write: the error rates as .json.")] = None,
    metrics: Metrics = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
    bootstrap: Samples = DRAWS,
    seed: Seed = 0,
) -> None:
    """Compare error rates on original and cleaned references.

    RUNS have a set and its cleaned version, such as voxpopuli and voxpopuli_cleaned.
    """
    outputs = list_outputs(output, ["json"], force)
    levels = choose_levels(split_names(metrics), LEVEL)
    systems = read(runs, read_set(None), allow_mismatch, levels=levels)
    rows = compare_references(systems, bootstrap, seed)
    grid = as_grid(rows, levels[LEVEL].unit)
    tasks = [task for system in systems for task in system.tasks]
    publish(Publication(SCHEMA, [grid], {"references": grid.rows}), outputs, runs, tasks)
