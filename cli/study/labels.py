"""Define `siq study labels`: label whether the task behind each transcript succeeded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Force, JudgeOptions, Runs, output_option, read_judge_options
from speechiq.cli.stopping import stop_in_one_line
from speechiq.cli.study.predict import OnlyAnswerable, OnlyErrors
from speechiq.core.console import count_of, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import OWN_FILE, write_whole
from speechiq.reducer.runs.labels import Label, refuse_alike, write_labels
from speechiq.reducer.studies.validity import answer_key
from speechiq.reducer.studies.validity.answer_key import Success, label_answers, leave_out
from speechiq.reducer.studies.validity.exchanges import label_judged, read_exchanges
from speechiq.reducer.studies.validity.tables import Tables, read_tables
from speechiq.reducer.tables.publish import list_outputs

if TYPE_CHECKING:
    from speechiq.metrics.judge.judging import Judging

#: The rubric of the judge, unless another one is named.
RUBRIC = "same_task"


@examples(
    "siq study labels runs --output labels.jsonl",
    "siq study labels runs --only-errors --only-answerable --output labels.jsonl",
    "siq study labels runs --judge openai:gpt-4o --output judged.jsonl",
    "siq study labels runs --output review.html",
)
def labels(
    runs: Runs,
    output: Annotated[
        Path,
        output_option(
            "File to write: labels as .jsonl, or as .html a page on which a person compares the answers to transcripts "
            "with those to references and saves labels."
        ),
    ],
    judge: Annotated[
        str | None,
        typer.Option(
            help="Let a language model, ENGINE:MODEL, compare the answer to the transcript with that to the reference; "
            "by default the answer keys of the runs label."
        ),
    ] = None,
    judge_option: JudgeOptions = None,
    only_errors: OnlyErrors = False,
    only_answerable: OnlyAnswerable = False,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
) -> None:
    """Label each answer in RUNS as a success or a failure."""
    (file,) = list_outputs([output], ["labels", "page"], force)
    if file.format == "page":
        _refuse_on_page(output, {"judge": judge, "only-errors": only_errors, "only-answerable": only_answerable})
    judging = None
    if judge:
        from speechiq.metrics.judge.judging import read_judging

        judging = read_judging(read_judge_options(judge_option) | {"judge": judge}, default_rubric=RUBRIC)
    tables = read_tables(runs, allow_mismatch, allow_mismatch)
    for warning in tables.warnings:
        say(f"warning: {warning}")
    if file.format == "page":
        return _write_page(tables, output)
    made = _label_judged(tables, judging) if judging else label_answers(tables)
    made = leave_out(made, tables, only_errors=only_errors, only_answerable=only_answerable)
    author = f"judge {judge}" if judge else answer_key.BY
    refuse_alike(made.success.values(), author)
    rows = (Label(item[0], of, good, author, *item[1:]) for (of, item), good in sorted(made.success.items()))
    write_labels(rows, output)
    for note in made.notes:
        say(note)
    failed = sum(not success for success in made.success.values())
    say(f"wrote {output}: {count_of(failed, 'failure')} among {count_of(len(made.success), 'item')}")


def _refuse_on_page(page: Path, options: Mapping[str, object]) -> None:
    """Refuse options of labels that a program makes.

    Raises:
        SpeechIQError: Naming the option.
    """
    for option, value in options.items():
        if value:
            raise SpeechIQError(
                f"--output {page} and --{option}: on the page a person labels all pairs of answers; leave --{option} "
                "out, or write labels into a .jsonl file"
            )


def _write_page(tables: Tables, page: Path) -> None:
    from speechiq.reducer.report.review import render_exchanges

    exchanges = read_exchanges(tables)
    write_whole(page, render_exchanges(exchanges).encode(errors="replace"), OWN_FILE)
    same = sum(exchange.same for exchange in exchanges)
    say(f"{same} of {len(exchanges)} items have equal answers: successes without a judgment")
    say(f"wrote {page}: open it, judge {count_of(len(exchanges) - same, 'item')}, and save labels.jsonl")


def _label_judged(tables: Tables, judging: Judging) -> Success:
    with stop_in_one_line("the same command continues from the response cache"):
        return label_judged(read_exchanges(tables), judging)
