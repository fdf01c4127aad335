"""Define `siq labels`: label whether the task behind each transcript succeeded, and compare labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.examples import examples
from speechiq.cli.options import AllowMismatch, AllowMissing, Draws, Force, Runs
from speechiq.cli.predict import Column, OnlyAnswerable, OnlyErrors
from speechiq.cli.tables import open_console
from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import check_output, write_whole
from speechiq.reducer.read.labels import Label, refuse_alike, write_labels
from speechiq.reducer.show import agreement_table
from speechiq.reducer.show.records import FIX
from speechiq.reducer.stats.draws import DRAWS
from speechiq.reducer.validity import answer_key
from speechiq.reducer.validity.agreement import compare
from speechiq.reducer.validity.answer_key import label_answers, leave_out
from speechiq.reducer.validity.exchanges import read_exchanges
from speechiq.reducer.validity.sources import read_sources
from speechiq.reducer.validity.tables import read_tables

app = typer.Typer(no_args_is_help=True, help="Label whether the task behind each transcript succeeded.")
WAYS = ("answers", "judge")


@app.command(
    "make",
    epilog=examples(
        "siq labels make runs --by answers --output labels.jsonl",
        "siq labels make runs --by answers --only-errors --only-answerable --output labels.jsonl",
    ),
)
def make(
    runs: Runs,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write, a .jsonl file.")] = Path(
        "labels.jsonl"
    ),
    by: Annotated[
        str,
        typer.Option(
            help="Choose who labels: `answers` takes the answer keys of the runs; `judge` lets a language model "
            "compare the answer to the transcript with that to the reference."
        ),
    ] = "answers",
    only_errors: OnlyErrors = False,
    only_answerable: OnlyAnswerable = False,
    column: Column = None,
    allow_mismatch: AllowMismatch = False,
    allow_missing: AllowMissing = False,
    force: Force = False,
) -> None:
    """Label each answer in RUNS as a success or a failure."""
    if by not in WAYS:
        raise SpeechIQError(f"--by {by}: choose from {', '.join(WAYS)}")
    check_output(output, force, FIX)
    tables = read_tables(runs, allow_missing, allow_mismatch)
    for warning in tables.warnings:
        say(f"warning: {warning}")
    made = label_answers(tables, column)
    made = leave_out(made, tables, only_errors=only_errors, only_answerable=only_answerable, column=column)
    refuse_alike(made.success.values(), f"--by {by}")
    write_labels(
        (
            Label(item[0], system, success, answer_key.BY, *item[1:])
            for (system, item), success in sorted(made.success.items())
        ),
        output,
    )
    for note in made.notes:
        say(note)
    failed = sum(not success for success in made.success.values())
    say(f"wrote {output}: {failed} failures among {len(made.success)} items")


@app.command("review", epilog=examples("siq labels review runs --output review.html"))
def review(
    runs: Runs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Page to write, an HTML file.")],
    allow_mismatch: AllowMismatch = False,
    allow_missing: AllowMissing = False,
    force: Force = False,
) -> None:
    """Write a page on which a person compares the answers to transcripts with those to references, offline."""
    check_output(output, force, FIX)
    from speechiq.reducer.show.report.label_review import render_review

    tables = read_tables(runs, allow_missing, allow_mismatch)
    for warning in tables.warnings:
        say(f"warning: {warning}")
    exchanges = read_exchanges(tables)
    write_whole(output, render_review(exchanges).encode(errors="replace"), FIX)
    same = sum(of.same for of in exchanges)
    say(f"{same} of {len(exchanges)} items have equal answers: successes without a judgement")
    say(f"wrote {output}: open it, judge {len(exchanges) - same} items, and save labels.jsonl")


@app.command("agree", epilog=examples("siq labels agree runs --labels people.jsonl --labels judge.jsonl"))
def agree(
    runs: Runs,
    labels: Annotated[list[Path], typer.Option(help="Labels to compare, .jsonl files; give the option twice or more.")],
    bootstrap: Draws = DRAWS,
    seed: Annotated[int, typer.Option(min=0, help="Set the seed of the draws.")] = 0,
    allow_mismatch: AllowMismatch = False,
    allow_missing: AllowMissing = False,
) -> None:
    """Measure how well sources of labels agree, by Cohen's kappa."""
    if len(labels) < 2:
        raise SpeechIQError("--labels is given once; give two files or more to compare")
    tables = read_tables(runs, allow_missing, allow_mismatch)
    open_console().print(agreement_table.as_table(compare(read_sources(labels, tables), bootstrap, seed)))
