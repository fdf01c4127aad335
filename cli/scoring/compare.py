"""Define `siq compare`: test whether one system is better than another, and show the clips that decide it."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import (
    AllowMismatch,
    Explain,
    Force,
    Samples,
    output_option,
    read_path,
    say_warnings,
    split_names,
)
from speechiq.cli.scoring.options import Exclude, NormsFile, Weights, read_norms, read_set
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import exists
from speechiq.reducer.output import side_by_side
from speechiq.reducer.output.publish import Publication, list_outputs, publish
from speechiq.reducer.output.scoreboard_records import join
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.suites import ScoringOptions
from speechiq.reducer.stats.grid import Grid
from speechiq.reducer.studies.compare import (
    METRICS,
    SelectedRuns,
    choose_system,
    compare_metrics,
    compare_pair,
    pair_up,
)
from speechiq.reducer.studies.comparison import SIQ


@examples(
    "siq compare runs/one runs/other",
    "siq compare whisper-base whisper-tiny.en runs/demo --clips 3",
    "siq compare whisper-base whisper-tiny.en runs/demo --levels remember --output comparison.json",
    "siq compare whisper-base whisper-tiny.en runs/demo --metrics wer,similarity",
)
def compare(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A", help="Folder or results file of one system, or a part of its name if RUNS are given."
        ),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The same for the other system.")],
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders or results files with the named systems and the other systems that set the SIQ scale.",
            parser=read_path,
            metavar="RUNS",
        ),
    ] = None,
    output: Annotated[list[Path] | None, output_option("File to write: the comparison as .json.")] = None,
    norms_file: NormsFile = None,
    levels: Annotated[
        str | None,
        typer.Option(help=f"Use only some of {','.join([*LEVELS, SIQ])} in the verdict: all of them must agree."),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Use other columns of the sample rows, with commas between them: LEVEL=COLUMN scores a level by it, "
            "such as remember=cer; names alone, such as wer,similarity, are compared as they are, and a system is "
            "better only if it is on all of them."
        ),
    ] = None,
    clips: Annotated[
        int, typer.Option(min=0, help="Show texts and answers of this many clips, those that decide the most.")
    ] = 0,
    exclude: Exclude = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
    explain: Explain = False,
    weights: Weights = None,
    bootstrap: Samples = DRAWS,
) -> None:
    """Compare two systems, and show the clips that decide.

    `siq compare RUN_A RUN_B`, or `siq compare NAME_A NAME_B RUNS`.
    """
    outputs = list_outputs(output, ["json"], force)
    measures, columns = _split_metrics(metrics, levels=levels, weights=weights, norms=norms_file, exclude=exclude)
    norms = read_norms(norms_file, weights)

    options = ScoringOptions(weights, norms, read_set(exclude), allow_mismatch, draws=bootstrap)

    def find(paths: Sequence[Path]) -> SelectedRuns:
        found = suites.find(paths, allow_mismatch, options, measures=measures)
        return SelectedRuns(found, {suite: found.read(suite) for suite in found.levels})

    if runs and exists(Path(a)) and not exists(runs[-1]):
        raise SpeechIQError(
            f"siq compare {a} {b} {runs[-1]}", "RUNS come last", f"write siq compare {b} {runs[-1]} {a}"
        )
    named = find(runs) if runs else None
    chosen_a, chosen_b = (choose_system(place, named, find) for place in (a, b))
    read = [*filter(None, [named]), chosen_a, chosen_b]
    say_warnings(chain.from_iterable(each.found.warnings for each in read))
    for each in read:
        suites.refuse_options_of_siq(each.found, weights=weights, norms=norms_file, exclude=exclude)
    required = None if levels is None else split_names(levels)
    pairs = list(pair_up(chosen_a, chosen_b, named, required, (a, b)))
    comparisons = {pair.suite: compare_pair(pair, options) for pair in pairs} if not columns else {}
    if columns:
        comparisons[METRICS] = compare_metrics(pairs, columns, options)
    grids: list[Grid] = []
    for compared in comparisons.values():
        say_warnings(compared.warnings)
        grid = side_by_side.as_grid(compared)
        notes = [*grid.notes, side_by_side.BRACKETS] if clips else [*grid.notes]
        grids += [grid._replace(notes=notes), *side_by_side.clip_grids(compared, clips)]
    contents = {suite: compared.content for suite, compared in comparisons.items()}
    tasks = [task for each in read for tasks in each.found.tasks.values() for task in tasks]
    places = [Path(a), Path(b), *(runs or [])]
    publish(Publication("speechiq-comparison", grids, join(contents, SIQ)), outputs, places, tasks, explain)


def _split_metrics(metrics: str | None, **others: object) -> tuple[list[str], list[str]]:
    """Return the columns of levels, `LEVEL=COLUMN`, or those to compare as they are; refuse both forms together."""
    names = split_names(metrics)
    measures = [name for name in names if "=" in name]
    if measures and len(measures) < len(names):
        raise SpeechIQError(
            f"--metrics {metrics}",
            "columns of levels and columns alone",
            "write LEVEL=COLUMN for all of them or for none",
        )
    for option, value in others.items():
        if names and not measures and value is not None:
            raise SpeechIQError(
                f"--{option} {value}", f"--metrics {metrics} compares columns as they are", "leave one of the two out"
            )
    return measures, [] if measures else names
