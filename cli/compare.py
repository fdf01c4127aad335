"""Define `siq compare`: test whether one system is better than another, and show the clips that decide it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
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
    Weights,
    read_norms,
    read_path,
    read_set,
)
from speechiq.cli.references import compare_references
from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.scale import DEFAULT_RULE, check_rule
from speechiq.reducer.scores.scoring import Options
from speechiq.reducer.stats.grid import Grid
from speechiq.reducer.studies.comparison import SIQ
from speechiq.reducer.studies.metric_comparison import METRICS, compare_metrics
from speechiq.reducer.studies.pair_comparison import compare as compare_pair
from speechiq.reducer.studies.pairs import Held, choose, pair_up
from speechiq.reducer.tables import side_by_side
from speechiq.reducer.tables.publish import Publication, list_outputs, publish
from speechiq.reducer.tables.scoreboard_records import join

SCHEMA = "speechiq-comparison"
EXAMPLES = examples(
    "siq compare runs/one runs/other",
    "siq compare whisper-base whisper-tiny.en runs/demo",
    "siq compare whisper-base whisper-tiny.en runs/demo --levels remember --output comparison.json",
    "siq compare whisper-base whisper-tiny.en runs/demo --metrics wer,similarity",
    "siq compare runs/voxpopuli --references",
)


def compare(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A", help="Folder or results file of one system, or a part of its name if RUNS are given."
        ),
    ],
    b: Annotated[
        str | None, typer.Argument(metavar="B", help="The same for the other system; not needed with --references.")
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders or results files with the named systems and the other systems that set the SIQ scale.",
            parser=read_path,
            metavar="RUNS",
        ),
    ] = None,
    weights: Weights = None,
    norms_file: NormsFile = None,
    allow_mismatch: AllowMismatch = False,
    allow_missing: AllowMissing = False,
    exclude: Exclude = None,
    levels: Annotated[
        str | None,
        typer.Option(
            help=f"Name what must agree for a system to be better: some of {','.join([*LEVELS, SIQ])}; by default all."
        ),
    ] = None,
    measure: Measures = None,
    bootstrap: Draws = DRAWS,
    seed: Annotated[int, typer.Option(min=0, help="Set the seed of draws and permutations.")] = 0,
    clips: Annotated[
        int, typer.Option(min=0, help="Set how many of the clips that drive the difference are shown.")
    ] = 5,
    output: Annotated[
        list[Path] | None, typer.Option("--output", "-o", help="File to write: the comparison as .json.")
    ] = None,
    references: Annotated[
        bool,
        typer.Option(
            "--references",
            help="Take all arguments as folders of runs, and compare the error rates of each system on the original "
            "and the cleaned references of a set.",
        ),
    ] = False,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Compare these columns of the sample rows instead, such as wer,llm_semdist_eowl: on the same draws of "
            "clips, error rates pooled; a system is better only if all intervals favor it."
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Compare two systems: `siq compare RUN_A RUN_B`, or `siq compare NAME_A NAME_B RUNS`."""
    outputs = list_outputs(output, ["json"], force)
    if references:
        places = [read_path(a), *([read_path(b)] if b else []), *(runs or [])]
        return compare_references(places, measure, bootstrap, seed, allow_missing, outputs)
    if b is None:
        raise SpeechIQError(f"siq compare {a}: one system alone; name the other, or give --references")
    check_rule(weights or DEFAULT_RULE)
    norms = read_norms(norms_file, weights)

    options = Options(weights, norms, read_set(exclude), allow_mismatch, draws=bootstrap, seed=seed)

    def find(paths: Sequence[Path]) -> Held:
        found = suites.find(paths, allow_missing, options, measures=measure or ())
        return Held(found, {suite: found.read(suite) for suite in found.levels})

    named = find(runs) if runs else None
    one, other = (choose(given, named, find) for given in (a, b))
    held = [*filter(None, [named]), one.held, other.held]
    for warning in dict.fromkeys(chain.from_iterable(each.found.warnings for each in held)):
        say(f"warning: {warning}")
    for each in held:
        suites.refuse_options_of_siq(each.found, weights=weights, norms=norms_file, exclude=exclude)
    if metrics is not None:
        for option, value in {"levels": levels, "weights": weights, "norms": norms_file, "exclude": exclude}.items():
            if value is not None:
                raise SpeechIQError(
                    f"--{option} {value}: --metrics compares columns as they are; leave one of the two out"
                )
    required = None if levels is None else [name.strip() for name in levels.split(",")]
    pairs = list(pair_up(one, other, named, required, (a, b)))
    if metrics is None:
        comparisons = {pair.suite: compare_pair(pair, options) for pair in pairs}
    else:
        names = [name.strip() for name in metrics.split(",")]
        comparisons = {METRICS: compare_metrics(pairs, names, options)}
    grids: list[Grid] = []
    for compared in comparisons.values():
        for warning in compared.warnings:
            say(f"warning: {warning}")
        grid = side_by_side.as_grid(compared)
        notes = [*grid.notes, *[side_by_side.BRACKETS] * bool(clips)]
        grids += [grid._replace(notes=notes), *side_by_side.clip_grids(compared, clips)]
    contents = {suite: compared.content for suite, compared in comparisons.items()}
    tasks = [task for of in held for tasks in of.found.tasks.values() for task in tasks]
    places = [Path(a), Path(b), *(runs or [])]
    publish(Publication(SCHEMA, grids, join(contents, SIQ)), outputs, places, tasks)
