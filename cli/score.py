"""Define `siq score`: the ranking of the systems found in folders of runs."""

from __future__ import annotations

import sys
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
    read,
    read_levels,
    read_norms,
    read_set,
)
from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import check_output, check_output_folder, refuse_same, write_whole
from speechiq.reducer.show import dashboards, markup, records, table
from speechiq.reducer.show.origin import origin
from speechiq.reducer.siq import scale as siq
from speechiq.reducer.siq.by_dataset import MACRO, macro_average, macro_caption, rank_by_dataset
from speechiq.reducer.siq.ranking import rank

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
        check_output(path, force, records.MEND)
    if harness_json is not None:
        check_output_folder(harness_json, dashboards.ADVICE)
    siq.check_rule(weights or siq.DEFAULT_RULE)
    frozen = read_norms(norms_file, weights)
    if frozen and by_dataset:
        raise SpeechIQError(
            f"--by-dataset and --norms {norms_file}: norms have one scale for all their data sets; leave one of the "
            "two out, or build norms of each data set and score each by itself"
        )
    excluded = read_set(exclude)
    options = {
        "rule": weights or siq.DEFAULT_RULE,
        "allow_mismatch": allow_mismatch,
        "draws": bootstrap,
        "seed": seed,
    }
    systems = read(runs, excluded, allow_missing, levels=read_levels(measure, levels, frozen))
    ranking = rank(systems, norms=frozen, **options)
    scores, context = ranking.scores, ranking.context._replace(excluded=len(excluded))
    for warning in context.remarks.warnings():
        say(f"warning: {warning}")
    sets = rank_by_dataset(context.systems, **options) if by_dataset else {}
    rows = {dataset: records.rows_of(of.scores, of.context) for dataset, of in sets.items()}
    tables = [table.as_table(scores, context)]
    tables += [table.as_table(of.scores, of.context, dataset) for dataset, of in sets.items()]
    if by_dataset:
        rows[MACRO] = macro_average(sets)
        tables.append(table.rows_as_table(rows[MACRO], context, MACRO, macro_caption(sets)))
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE)
    for shown in tables:
        table.print_table(console, shown)

    about = origin(SCHEMA, runs)
    parts = {
        "by_dataset": {dataset: records.as_json(of.scores, of.context) for dataset, of in sets.items()} or None,
        "macro_average": rows.get(MACRO),
    }
    common = {name: about[name] for name in ("speechiq", "date")}
    for path, text in (
        (json, lambda: records.as_text(records.as_json(scores, context) | parts | about)),
        (csv, lambda: records.as_csv(scores, context, rows, **common)),
        (markdown, lambda: "\n".join(map(markup.as_markdown, tables))),
        (latex, lambda: "\n".join(map(markup.as_latex, tables))),
    ):
        if path is not None:
            write_whole(path, text().encode(), records.MEND)
            say(f"wrote {path}")
    if harness_json is not None:
        dashboards.write_harness(ranking._replace(context=context), harness_json)
        say(f"wrote {harness_json}, a folder a system")
