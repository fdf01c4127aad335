"""Define `siq study predict`: measure which metric of a transcript predicts that the task behind it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import EXPERT, AllowMismatch, Force, Runs, Samples, Seed, output_option, split_names
from speechiq.core.console import say
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.studies.validity import published
from speechiq.reducer.studies.validity.agreement import as_grid, compare
from speechiq.reducer.studies.validity.from_runs import predict_runs
from speechiq.reducer.studies.validity.sources import read_sources
from speechiq.reducer.studies.validity.tables import read_tables
from speechiq.reducer.tables.origin import command_line
from speechiq.reducer.tables.publish import Publication, list_outputs, publish

SCHEMA = "speechiq-prediction"
FORMATS = ("json", "csv", "page")
OnlyErrors = Annotated[
    bool, typer.Option("--only-errors", help="Leave out items whose transcript has no error (as the paper does).")
]
OnlyAnswerable = Annotated[
    bool,
    typer.Option(
        "--only-answerable",
        help="Leave out items that are answered wrong even from the reference (as the paper does); needs a run of "
        "the control gold with the same language model.",
    ),
]


@examples(
    "siq study predict runs",
    "siq study predict runs --labels labels.jsonl --metrics wer,llm_semdist_eowl --output predict.html",
    "siq study predict runs --labels labels.jsonl --combine 'llm_semdist_eowl + 0.1*entity_wer'",
)
def predict(
    runs: Runs,
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            help="Success labels, a .jsonl file with id, system, success and by (`siq study labels`). Several times "
            "for several authors: the first is predicted, and the agreement of each pair is printed. Without it, "
            "an item fails if its question is answered wrong."
        ),
    ] = None,
    output: Annotated[
        list[Path] | None, output_option("File to write: .json, .csv, or a page with ROC curves as .html.")
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Use other columns of the sample rows as predictors, with commas between them; by default all that "
            "the runs have."
        ),
    ] = None,
    only_errors: OnlyErrors = False,
    only_answerable: OnlyAnswerable = False,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
    combine: Annotated[
        list[str] | None,
        typer.Option(
            help="Add a linear form of metrics, such as 'llm_semdist_eowl + 0.1*entity_wer'; repeatable.",
            rich_help_panel=EXPERT,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="Name the metric that others are compared with; by default wer.", rich_help_panel=EXPERT),
    ] = None,
    defined: Annotated[
        str | None,
        typer.Option(
            help="Keep only items on which this metric is defined, such as entity_wer.", rich_help_panel=EXPERT
        ),
    ] = None,
    undefined: Annotated[
        str | None,
        typer.Option(help="Keep only items on which this metric is undefined.", rich_help_panel=EXPERT),
    ] = None,
    bootstrap: Samples = DRAWS,
    seed: Seed = 0,
) -> None:
    """Measure how well each metric predicts failed tasks.

    A task fails if the answer to the transcript is wrong, or by labels.
    """
    outputs = list_outputs(output, FORMATS, force)
    tables = read_tables(runs, allow_mismatch, allow_mismatch)
    for warning in tables.warnings:
        say(f"warning: {warning}")
    sources = read_sources(labels or [], tables)
    found = predict_runs(
        tables,
        sources,
        metrics=None if metrics is None else split_names(metrics),
        combine=combine or (),
        against=against,
        defined=defined,
        undefined=undefined,
        only_errors=only_errors,
        only_answerable=only_answerable,
        draws=bootstrap,
        seed=seed,
    )
    agreements = compare(sources, bootstrap, seed)

    def page() -> str:
        from speechiq.reducer.report.page import describe_origin
        from speechiq.reducer.report.studies import render_prediction

        return render_prediction(found, agreements, describe_origin(tables.tasks, command_line()))

    publication = Publication(
        SCHEMA,
        [*([as_grid(agreements)] if agreements else []), *published.as_grids(found)],
        published.as_content(found) | {"agreement": agreements},
        published.as_rows(found),
        [published.verdict(found), *published.notes_of(found)],
        page,
    )
    publish(publication, outputs, runs, tables.tasks)
