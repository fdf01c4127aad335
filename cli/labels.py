"""Define `siq labels`: label whether the task behind each transcript succeeded, and compare labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from speechiq.cli.examples import examples
from speechiq.cli.judge_options import read_judge_options
from speechiq.cli.options import AllowMismatch, AllowMissing, Draws, Force, Runs
from speechiq.cli.outputs import list_outputs
from speechiq.cli.predict import Column, OnlyAnswerable, OnlyErrors
from speechiq.cli.stopping import stop_in_one_line
from speechiq.core.console import count_of, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import OWN_FILE, check_output, write_whole
from speechiq.reducer.runs.labels import Label, refuse_alike, write_labels
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.studies.validity import answer_key
from speechiq.reducer.studies.validity.agreement import as_grid, compare
from speechiq.reducer.studies.validity.answer_key import Success, label_answers, leave_out
from speechiq.reducer.studies.validity.exchanges import read_exchanges
from speechiq.reducer.studies.validity.sources import read_sources
from speechiq.reducer.studies.validity.tables import Tables, read_tables
from speechiq.reducer.tables.terminal import print_grid

if TYPE_CHECKING:
    from speechiq.metrics.judge.judging import Judging

app = typer.Typer(no_args_is_help=True, help="Label whether the task behind each transcript succeeded.")
JUDGE = "judge"
WAYS = (answer_key.BY, JUDGE)
#: The rubric of the judge, unless another one is named.
RUBRIC = "same_task"


@app.command(
    "make",
    epilog=examples(
        "siq labels make runs --by answers --output labels.jsonl",
        "siq labels make runs --by answers --only-errors --only-answerable --output labels.jsonl",
        "siq labels make runs --by judge --judge openai:gpt-4o --output judged.jsonl",
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
    judge: Annotated[
        str | None, typer.Option(metavar="ENGINE:MODEL", help="Judge of --by judge: a text engine and its model.")
    ] = None,
    judge_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Option of the judge, such as rubric=FILE, draws=3, by=likelihood or base_url=URL; repeatable.",
        ),
    ] = None,
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
    if (judge is None) == (by == JUDGE):
        raise SpeechIQError(
            f"--by {by}: {'name the judge, --judge ENGINE:MODEL' if by == JUDGE else f'leave --judge {judge} out'}"
        )
    check_output(output, force, OWN_FILE)
    judging = None
    if judge:
        from speechiq.metrics.judge.judging import read_judging

        judging = read_judging(read_judge_options(judge_option or ()) | {"judge": judge}, default_rubric=RUBRIC)
    author = f"{JUDGE} {judge}" if judge else answer_key.BY
    tables = read_tables(runs, allow_missing, allow_mismatch)
    for warning in tables.warnings:
        say(f"warning: {warning}")
    made = _label_judged(tables, judging) if judging else label_answers(tables, column)
    made = leave_out(made, tables, only_errors=only_errors, only_answerable=only_answerable, column=column)
    refuse_alike(made.success.values(), f"--by {by}")
    labels = (Label(item[0], of, good, author, *item[1:]) for (of, item), good in sorted(made.success.items()))
    write_labels(labels, output)
    for note in made.notes:
        say(note)
    failed = sum(not success for success in made.success.values())
    say(f"wrote {output}: {count_of(failed, 'failure')} among {count_of(len(made.success), 'item')}")


@app.command("review", epilog=examples("siq labels review runs --output review.html"))
def review(
    runs: Runs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Page to write, an HTML file.")],
    allow_mismatch: AllowMismatch = False,
    allow_missing: AllowMissing = False,
    force: Force = False,
) -> None:
    """Write a page on which a person compares the answers to transcripts with those to references, offline."""
    list_outputs([output], ["page"], force)
    from speechiq.reducer.report.review import render_exchanges

    tables = read_tables(runs, allow_missing, allow_mismatch)
    for warning in tables.warnings:
        say(f"warning: {warning}")
    exchanges = read_exchanges(tables)
    write_whole(output, render_exchanges(exchanges).encode(errors="replace"), OWN_FILE)
    same = sum(of.same for of in exchanges)
    say(f"{same} of {len(exchanges)} items have equal answers: successes without a judgment")
    say(f"wrote {output}: open it, judge {count_of(len(exchanges) - same, 'item')}, and save labels.jsonl")


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
    print_grid(as_grid(compare(read_sources(labels, tables), bootstrap, seed)))


def _label_judged(tables: Tables, judging: Judging) -> Success:
    from speechiq.reducer.studies.validity.judged import label_judged

    with stop_in_one_line("the same command continues from the response cache"):
        return label_judged(read_exchanges(tables), judging)
