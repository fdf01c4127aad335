"""Define `siq judge agree`: measure how far two judges agree on the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Force, Samples, Seed, output_option, read_path
from speechiq.core.console import say
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.scoring import Options
from speechiq.reducer.studies.judges.inter_judge import as_grid, compare
from speechiq.reducer.tables.publish import Publication, list_outputs, publish

SCHEMA = "speechiq-inter-judge-agreement"
FORMATS = ("json", "csv")


@examples(
    "siq judge agree runs runs-judged-by-gpt-4o",
    "siq judge agree runs/one-judge runs/other-judge --output agreement.json",
)
def agree(
    one: Annotated[
        Path, typer.Argument(metavar="RUNS_A", parser=read_path, help="Folder or results file judged by judge A.")
    ],
    other: Annotated[
        Path,
        typer.Argument(
            metavar="RUNS_B", parser=read_path, help="The same answers, judged by judge B (`siq judge run`)."
        ),
    ],
    output: Annotated[list[Path] | None, output_option("File to write: the agreement as .json or .csv.")] = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
    bootstrap: Samples = DRAWS,
    seed: Seed = 0,
) -> None:
    """Measure how far two judges of the same answers agree.

    Weighted kappa, Krippendorff's alpha, rank correlation, and bias.
    """
    outputs = list_outputs(output, FORMATS, force)
    sides = [suites.find([place], allow_mismatch, Options()) for place in (one, other)]
    for warning in dict.fromkeys(warning for of in sides for warning in of.warnings):
        say(f"warning: {warning}")
    found = compare(*sides, draws=bootstrap, seed=seed, allow_mismatch=allow_mismatch)
    tasks = [task for of in sides for group in of.tasks.values() for task in group]
    agreements = [row.record for row in found]
    content = {"agreements": agreements, "draws": bootstrap, "seed": seed}
    grid = as_grid(found, bootstrap, seed)
    publish(Publication(SCHEMA, [grid], content, agreements), outputs, [one, other], tasks)
