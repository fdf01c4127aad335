"""Define `siq study unanswerable`: find questions that most systems fail, confirm and count those without an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Force, Runs, output_option
from speechiq.core.console import say
from speechiq.core.files.plain import refuse_to_overwrite
from speechiq.reducer.runs.answers import Answers
from speechiq.reducer.scores.siq_systems import read_answers
from speechiq.reducer.studies import hallucination, unanswerable
from speechiq.reducer.tables.publish import Publication, list_outputs, publish

SCHEMA = "speechiq-hallucination"
FORMATS = ("json", "csv")


@examples("siq study unanswerable find runs --output review.jsonl")
def find(
    runs: Runs,
    output: Annotated[Path, output_option("Review file to write, a JSONL file.")],
    share: Annotated[
        float, typer.Option(min=0, max=1, help="Set the least share of systems that fail a candidate.")
    ] = 0.5,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
) -> None:
    """Write questions that most systems fail to a file.

    A person fills in the verdicts of this review.
    """
    refuse_to_overwrite(output, force)
    answers = _read(runs, allow_mismatch)
    rows = unanswerable.find(answers, share)
    found = f"{len(rows)} of {len(answers.questions)} questions fail in at least {100 * share:g} % of the systems"
    if not rows:
        say(f"{found}: nothing to review, nothing written")
        return
    unanswerable.write_review(rows, output)
    say(f"{found}; wrote {output}: fill in each verdict ({' or '.join(unanswerable.VERDICTS)})")


@examples("siq study unanswerable confirm review.jsonl --output unanswerable.json")
def confirm(
    review: Annotated[Path, typer.Argument(help="Review file with a verdict on every line.")],
    output: Annotated[Path, output_option("Set to write, a JSON file.")],
    force: Force = False,
) -> None:
    """Store the confirmed questions as a set."""
    refuse_to_overwrite(output, force)
    confirmed = unanswerable.confirm(review)
    unanswerable.write_set(confirmed, output)
    verdicts = [row["verdict"] for row in confirmed["questions"]]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in unanswerable.CONFIRMED)
    say(f"wrote {output}: {counts} of {confirmed['reviewed']} reviewed")


@examples(
    "siq study unanswerable count runs --set unanswerable.json",
    "siq study unanswerable count runs --set unanswerable.json --output counts.csv",
)
def count(
    runs: Runs,
    confirmed: Annotated[Path, typer.Option("--set", help="Set to count on, a file of `confirm`.")],
    output: Annotated[list[Path] | None, output_option("File to write: the counts as .json or .csv.")] = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
) -> None:
    """Count how often each system answers them.

    An answer is a majority other than "None of the above".
    """
    outputs = list_outputs(output, FORMATS, force)
    questions = unanswerable.read(confirmed)
    counts = hallucination.count(_read(runs, allow_mismatch), questions)
    publish(Publication(SCHEMA, [hallucination.as_grid(counts)], {"systems": counts}), outputs, runs)


def _read(runs: list[Path], allow_mismatch: bool) -> Answers:
    answers = read_answers(runs, allow_mismatch)
    for warning in answers.warnings:
        say(f"warning: {warning}")
    return answers
