"""Define `siq score`: the ranking of the systems found in folders of runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from speechiq.cli.options import (
    WIDTH_OF_A_PIPE,
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
from speechiq.core.files import check_output, check_output_folder, refuse_same, write_whole
from speechiq.reducer import suites
from speechiq.reducer.scoring import Options
from speechiq.reducer.show import dashboards, markup, records, table
from speechiq.reducer.show.by_suite import join, join_rows
from speechiq.reducer.show.origin import as_columns, origin
from speechiq.reducer.siq import scale as siq

SCHEMA = "speechiq-scores"


def score(
    runs: Runs,
    weights: Weights = None,
    norms_file: NormsFile = None,
    allow_mismatch: AllowMismatch = False,
    allow_missing: AllowMissing = False,
    exclude: Exclude = None,
    measure: Measures = None,
    levels: Only = None,
    by_dataset: Annotated[
        bool, typer.Option("--by-dataset", help="Add a table for each data set, and the mean over data sets.")
    ] = False,
    bootstrap: Draws = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 0,
    json: Annotated[Path | None, typer.Option(help="Write the scores to this JSON file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the scores to this CSV file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the table to this Markdown file.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write the table to this LaTeX file.")] = None,
    harness_json: Annotated[
        Path | None, typer.Option(help="Write the scores as lm-eval's own results into this folder.")
    ] = None,
    force: Force = False,
) -> None:
    """Score all systems found in RUNS, against each other or on the scale of norms, and print the ranking."""
    refuse_same((json, csv, markdown, latex, harness_json))
    for path in filter(None, (json, csv, markdown, latex)):
        check_output(path, force, records.FIX)
    if harness_json is not None:
        check_output_folder(harness_json, dashboards.ADVICE)
    siq.check_rule(weights or siq.DEFAULT_RULE)
    frozen = read_norms(norms_file, weights)
    if frozen and by_dataset:
        raise SpeechIQError(
            f"--by-dataset and --norms {norms_file}: norms have one scale for all their data sets; leave one of the "
            "two out, or build norms of each data set and score each by itself"
        )
    options = Options(weights, frozen, read_set(exclude), allow_mismatch, bootstrap, seed, by_dataset)
    found = suites.find(runs, allow_missing, options, measures=measure or (), levels=levels)
    suites.refuse_options_of_siq(found, weights=weights, norms=norms_file, exclude=exclude)
    for warning in found.warnings:
        say(f"warning: {warning}")
    scored = {suite: found.scorings[suite].score(found.read(suite)) for suite in found.levels}
    for warning in chain.from_iterable(of.warnings for of in scored.values()):
        say(f"warning: {warning}")
    tables = [shown for of in scored.values() for shown in of.tables]
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE)
    for shown in tables:
        table.print_table(console, shown)

    about = origin(SCHEMA, runs, list(chain.from_iterable(found.tasks.values())))
    common = as_columns(about)
    outputs: list[tuple[Path | None, Callable[[], str]]] = [
        (json, lambda: records.as_text(join({suite: of.content for suite, of in scored.items()}) | about)),
        (csv, lambda: records.rows_as_csv(join_rows(scored, common))),
        (markdown, lambda: "\n".join(map(markup.as_markdown, tables))),
        (latex, lambda: "\n".join(map(markup.as_latex, tables))),
    ]
    for output, text in outputs:
        if output is not None:
            write_whole(output, text().encode(), records.FIX)
            say(f"wrote {output}")
    if harness_json is not None:
        for of in scored.values():
            dashboards.write_harness(of.export, harness_json)
        say(f"wrote {harness_json}, a folder a system")
