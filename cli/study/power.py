"""Define `siq study power`: how many clips show a difference between two systems."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Explain, Force, Runs, Samples, output_option, say_warnings
from speechiq.cli.scoring.options import TABLES, Levels, NormsFile, read_norms
from speechiq.reducer.output.publish import Publication, list_outputs, publish
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.suites import ScoringOptions
from speechiq.reducer.studies.sample_size import Aim, check_aim, plan_sizes, size_grid


@examples(
    "siq study power runs --difference 2",
    "siq study power runs --difference 2 --levels apply --pair whisper-base whisper-tiny.en",
    "siq study power runs --norms demo --output power.json",
)
def power(
    runs: Runs,
    difference: Annotated[
        float | None,
        typer.Option(
            help="Smallest difference that matters, in the unit of each score: points of a percentage or SIQ."
        ),
    ] = None,
    power: Annotated[float, typer.Option(help="Set how probable it is that the difference is shown.")] = 0.8,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Plan for two systems, by parts of their names, not for all pairs."),
    ] = None,
    output: Annotated[list[Path] | None, output_option("File to write: .json, .csv, or a table .md or .tex.")] = None,
    norms_file: NormsFile = None,
    levels: Levels = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
    explain: Explain = False,
    bootstrap: Samples = DRAWS,
) -> None:
    """Plan how many clips show a difference between two systems.

    RUNS are a pilot run of two or more systems on clips of the same kind. Without --difference, only the smallest
    difference that their clips show is printed.
    """
    outputs = list_outputs(output, TABLES, force)
    options = ScoringOptions(norms=read_norms(norms_file, None), allow_mismatch=allow_mismatch, draws=bootstrap)
    found = suites.find(runs, allow_mismatch, options, levels=levels)
    suites.refuse_options_of_siq(found, norms=norms_file)
    say_warnings(found.warnings)
    aim = Aim(difference, power)
    check_aim(aim, found.levels)
    grids, content = [], {}
    for suite in found.levels:
        content[suite], remarks = plan_sizes(found.read(suite), aim, options, pair, has_scale=is_siq(suite))
        grids.append(size_grid(suite, content[suite], remarks, aim, options))
    rows = [{"suite": suite} | record for suite, records in content.items() for record in records]
    publication = Publication("speechiq-power", grids, aim._asdict() | {"suites": content}, rows)
    publish(publication, outputs, runs, [task for tasks in found.tasks.values() for task in tasks], explain)
