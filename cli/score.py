"""Define `siq score`: rank the systems found in folders of runs."""

from __future__ import annotations

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
    Only,
    Runs,
    Weights,
    read_norms,
    read_set,
)
from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import check_output_folder, refuse_same
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.speeds import read_speeds
from speechiq.reducer.scores import scale as siq
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.presets import PRESETS
from speechiq.reducer.scores.scoring import Options
from speechiq.reducer.tables import dashboards, speed_table
from speechiq.reducer.tables.publish import Publication, list_outputs, publish
from speechiq.reducer.tables.scoreboard_records import join
from speechiq.reducer.tables.suite_scores import score_suite

SCHEMA = "speechiq-scores"
FORMATS = ("json", "csv", "markdown", "latex")
EXAMPLES = examples(
    "siq score runs",
    "siq score runs --output siq.json --output siq.csv",
    "siq score runs/my_system --norms demo",
    "siq score runs --measure remember=cer --by-dataset",
    "siq score runs --by noise",
)


def score(
    runs: Runs,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write; its ending chooses the format: .json (scores), .csv (a row per system), .md or .tex "
            "(the table). Give it once per file.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help=f"Score as published numbers were scored: {', '.join(PRESETS)}; sets weights and measures."),
    ] = None,
    weights: Weights = None,
    norms_file: NormsFile = None,
    allow_mismatch: AllowMismatch = False,
    allow_missing: AllowMissing = False,
    exclude: Exclude = None,
    measure: Measures = None,
    levels: Only = None,
    by_dataset: Annotated[
        bool, typer.Option("--by-dataset", help="Add a table per data set, and the mean over data sets.")
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD", help="Add a table of the scores by kind, such as noise, for suites whose tasks name it."
        ),
    ] = None,
    speed: Annotated[
        bool, typer.Option("--speed", help="Add a table of speeds: seconds of audio per second of work (RTFx).")
    ] = False,
    bootstrap: Draws = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Set the seed of the draws.")] = 0,
    harness_json: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the scores as results files of lm-eval into a folder.")
    ] = None,
    force: Force = False,
) -> None:
    """Score all systems found in RUNS, against each other or on the scale of norms, and print the ranking."""
    outputs = list_outputs(output, FORMATS, force)
    if harness_json is not None:
        refuse_same([harness_json, *(file.path for file in outputs)])
        check_output_folder(harness_json, dashboards.ADVICE)
    if preset is not None:
        weights, measure = _read_preset(preset, weights, measure)
    siq.check_rule(weights or siq.DEFAULT_RULE)
    norms = read_norms(norms_file, weights)
    if norms and by_dataset:
        raise SpeechIQError(
            f"--by-dataset and --norms {norms_file}: norms have one scale for all their data sets; leave one of the "
            "two out, or build norms of each data set and score each by itself"
        )
    options = Options(weights, norms, read_set(exclude), allow_mismatch, bootstrap, seed, by_dataset, by)
    found = suites.find(runs, allow_missing, options, measures=measure or (), levels=levels)
    suites.refuse_unknown_field(found, by)
    suites.refuse_options_of_siq(found, weights=weights, norms=norms_file, exclude=exclude)
    for warning in found.warnings:
        say(f"warning: {warning}")
    scored = {suite: score_suite(suite, found.read(suite), options) for suite in found.levels}
    for warning in chain.from_iterable(each.warnings for each in scored.values()):
        say(f"warning: {warning}")
    content = join({suite: each.content for suite, each in scored.items()}, SIQ)
    grids = [grid for each in scored.values() for grid in each.grids]
    tasks = list(chain.from_iterable(found.tasks.values()))
    if speed:
        speeds = read_speeds(tasks)
        grids.append(speed_table.as_grid(speeds))
        content["speeds"] = speeds
    rows = [
        ({} if [*scored] == [SIQ] else {"suite": suite}) | row for suite, each in scored.items() for row in each.rows
    ]
    publish(Publication(SCHEMA, grids, content, rows), outputs, runs, tasks)
    if harness_json is not None:
        for each in scored.values():
            dashboards.write_harness(each.scoreboard, harness_json)
        say(f"wrote {harness_json}, a folder per system")


def _read_preset(name: str, weights: str | None, measures: list[str] | None) -> tuple[str, list[str]]:
    """Return the weights and measures of a preset, which leaves no place for others.

    Raises:
        SpeechIQError: The preset is unknown, or weights or measures are given as well.
    """
    if name not in PRESETS:
        raise SpeechIQError(f"--preset {name}: unknown; {did_you_mean(name, PRESETS)}known are {', '.join(PRESETS)}")
    if weights is not None or measures:
        raise SpeechIQError(f"--preset {name}: it sets the weights and measures; leave out --weights and --measure")
    return PRESETS[name].weights, list(PRESETS[name].measures)
