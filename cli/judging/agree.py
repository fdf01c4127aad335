"""Define `siq judge agree`: measure how far two judges agree on the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Force, Samples, Seed, output_option, read_path
from speechiq.cli.outputs import list_outputs, write_outputs
from speechiq.cli.tables import open_console
from speechiq.core.console import say
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.scoring import Options
from speechiq.reducer.studies.judges.second_judge import compare
from speechiq.reducer.tables import judge_agreement_table, records, table
from speechiq.reducer.tables.origin import origin

SCHEMA = "speechiq-judge-agreement"
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
    table.print_table(open_console(), judge_agreement_table.as_table(found, bootstrap, seed))
    tasks = [task for of in sides for group in of.tasks.values() for task in group]
    content = {"agreements": [of.plain for of in found], "draws": bootstrap, "seed": seed}
    texts = {
        "json": lambda: records.as_text(content | origin(SCHEMA, [one, other], tasks)),
        "csv": lambda: records.rows_as_csv([records.flatten_ends(of.plain) for of in found]),
    }
    write_outputs(outputs, texts)
