"""Define `siq hallucination`: count how often each system answers a question that has no answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.examples import examples
from speechiq.cli.options import AllowMissing, Force, Runs
from speechiq.core.console import say
from speechiq.reducer.scores.siq_systems import read_answers
from speechiq.reducer.studies import hallucination as counting
from speechiq.reducer.studies import unanswerable
from speechiq.reducer.tables.publish import Publication, list_outputs, publish

SCHEMA = "speechiq-hallucination"
FORMATS = ("json", "csv")
EXAMPLES = examples(
    "siq hallucination runs --set unanswerable.json",
    "siq hallucination runs --set unanswerable.json --output counts.csv",
)


def hallucination(
    runs: Runs,
    confirmed: Annotated[Path, typer.Option("--set", help="Set to count on, a file of `siq unanswerable confirm`.")],
    output: Annotated[
        list[Path] | None, typer.Option("--output", "-o", help="File to write: the counts as .json or .csv.")
    ] = None,
    allow_missing: AllowMissing = False,
    force: Force = False,
) -> None:
    """Count how often each system answers an unanswerable question: majority answers other than (E)."""
    outputs = list_outputs(output, FORMATS, force)
    questions = unanswerable.read(confirmed)
    answers = read_answers(runs, allow_missing)
    for warning in answers.warnings:
        say(f"warning: {warning}")
    counts = counting.count(answers, questions)
    publish(Publication(SCHEMA, [counting.as_grid(counts)], {"systems": counts}), outputs, runs)
