"""Define `siq study listen`: whether systems answer from the audio."""

from itertools import chain
from pathlib import Path
from typing import Annotated

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Explain, Force, Runs, Samples, output_option, say_warnings, split_names
from speechiq.cli.scoring.options import TABLES, Levels, Metrics
from speechiq.reducer.output.publish import Publication, list_outputs, publish
from speechiq.reducer.runs.tasks import warn_of_variants
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.suites import ScoringOptions
from speechiq.reducer.stats.bootstrap import describe_samples
from speechiq.reducer.stats.grid import name_units
from speechiq.reducer.studies.listening import listening_grids, listening_records, study_listening


@examples("siq study listen runs", "siq study listen runs --output listen.csv --output listen.json")
def listen(
    runs: Runs,
    output: Annotated[
        list[Path] | None, output_option("File to write: .json, .csv, or the tables as .md or .tex.")
    ] = None,
    levels: Levels = None,
    metrics: Metrics = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
    explain: Explain = False,
    bootstrap: Samples = DRAWS,
) -> None:
    """Show whether systems answer from the audio.

    RUNS have the same tasks with their audio and with `--metadata listen=text`, `muted` or `swapped`. The report of
    `siq score` has the same tables.
    """
    outputs = list_outputs(output, TABLES, force)
    options = ScoringOptions(draws=bootstrap)
    found = suites.find(runs, allow_mismatch, options, measures=split_names(metrics), levels=levels)
    variants = list(chain.from_iterable(found.variants.values()))
    left_out = warn_of_variants(variants)
    say_warnings(line for line in found.warnings if line not in left_out)
    rows = study_listening(found, bootstrap, 0)
    tasks = [*chain.from_iterable(found.tasks.values()), *variants]
    records = list(listening_records(rows))
    lines = [describe_samples(bootstrap, 0, name_units(rows))] if bootstrap else []
    publication = Publication("speechiq-listen", listening_grids(rows, bootstrap), {"systems": records}, records, lines)
    publish(publication, outputs, runs, tasks, explain)
