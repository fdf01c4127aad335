"""Define `siq paper correlate`: compare SIQ and plain metrics with the ranks that people give."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Force, Runs, output_option, split_names
from speechiq.cli.scoring.options import Exclude, Metrics, Weights, read, read_set
from speechiq.core.console import say
from speechiq.reducer.runs.ranks import read_ranks
from speechiq.reducer.scores import scale as siq
from speechiq.reducer.scores.levels import choose_levels
from speechiq.reducer.scores.ranking import rank
from speechiq.reducer.studies.correlated import as_grid, correlate_ranks
from speechiq.reducer.tables.publish import Publication, list_outputs, publish

SCHEMA = "speechiq-correlation"
FORMATS = ("json", "csv")


@examples(
    "siq paper correlate runs --ranks people.csv",
    "siq paper correlate runs --ranks people.csv --weights inverse-variance --output correlation.json",
)
def correlate(
    runs: Runs,
    ranks: Annotated[
        Path,
        typer.Option(
            help="Table (.csv, .tsv or .jsonl) with the column system and columns of ranks, 1 for the best; the first "
            "is correlated with SIQ, with each level and with the other columns."
        ),
    ],
    output: Annotated[list[Path] | None, output_option("File to write: the coefficients as .json or .csv.")] = None,
    metrics: Metrics = None,
    exclude: Exclude = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
    weights: Weights = None,
) -> None:
    """Correlate SIQ and metrics with ranks by people.

    Each plain metric of the systems in RUNS is correlated as well (Table 3 of the paper).
    """
    outputs = list_outputs(output, FORMATS, force)
    siq.check_rule(weights or siq.DEFAULT_RULE)
    systems = read(runs, read_set(exclude), allow_mismatch, levels=choose_levels(split_names(metrics), None))
    given = read_ranks(ranks, [system.name for system in systems])
    ranking = rank(systems, rule=weights or siq.DEFAULT_RULE, allow_mismatch=allow_mismatch)
    if ranking.context.remarks.no_siq:
        say(f"warning: {ranking.context.remarks.no_siq}")
    rows = correlate_ranks(ranking, given)
    first = next(iter(given))
    grid = as_grid(rows, first)
    publish(Publication(SCHEMA, [grid], {"ranks": first, "correlations": grid.rows}), outputs, runs)
