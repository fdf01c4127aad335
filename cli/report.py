"""Define `siq report`: write one page about some runs that opens offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.examples import examples
from speechiq.cli.options import (
    AllowMismatch,
    AllowMissing,
    Draws,
    Exclude,
    Force,
    Measures,
    NormsFile,
    Only,
    Runs,
    Weights,
    read_norms,
    read_set,
)
from speechiq.core.console import say
from speechiq.reducer.scores import scale as siq
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.scoring import Options
from speechiq.reducer.tables.origin import command_line
from speechiq.reducer.tables.publish import list_outputs

EXAMPLES = examples(
    "siq report runs --output report.html", "siq report runs/my_system --norms demo --output report.html --force"
)


def report(
    runs: Runs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Page to write, an HTML file.")],
    norms_file: NormsFile = None,
    weights: Weights = None,
    allow_mismatch: AllowMismatch = False,
    allow_missing: AllowMissing = False,
    exclude: Exclude = None,
    measure: Measures = None,
    levels: Only = None,
    bootstrap: Draws = 1000,
    force: Force = False,
) -> None:
    """Write one page about the systems found in RUNS: ranking, charts, suspect items, and every clip."""
    list_outputs([output], ["page"], force)
    siq.check_rule(weights or siq.DEFAULT_RULE)
    from speechiq.reducer import report as page

    options = Options(weights, read_norms(norms_file, weights), read_set(exclude), allow_mismatch, bootstrap)
    found = suites.find(runs, allow_missing, options, measures=measure or (), levels=levels)
    suites.refuse_options_of_siq(found, weights=weights, norms=norms_file, exclude=exclude)
    text, warnings = page.compose(found, options, command_line())
    for warning in warnings:
        say(f"warning: {warning}")
    page.write(text, output, force=force)
    say(f"wrote {output}")
