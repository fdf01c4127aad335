"""Define `siq unanswerable`: find questions that most systems fail, and confirm those that cannot be answered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.examples import examples
from speechiq.cli.options import AllowMissing, Force, Runs
from speechiq.core.console import say
from speechiq.core.files.plain import refuse_to_overwrite
from speechiq.reducer.scores.siq_systems import read_answers
from speechiq.reducer.studies import unanswerable

app = typer.Typer(no_args_is_help=True, help="Find candidates of unanswerable questions, and confirm them.")


@app.command("find", epilog=examples("siq unanswerable find runs --output review.jsonl"))
def find_command(
    runs: Runs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Review file to write, a JSONL file.")],
    share: Annotated[
        float, typer.Option(min=0, max=1, help="Set the least share of systems that fail a candidate.")
    ] = 0.5,
    allow_missing: AllowMissing = False,
    force: Force = False,
) -> None:
    """Write the questions that most systems fail to a review file, for a person to judge."""
    refuse_to_overwrite(output, force)
    answers = read_answers(runs, allow_missing)
    for warning in answers.warnings:
        say(f"warning: {warning}")
    rows = unanswerable.find(answers, share)
    found = f"{len(rows)} of {len(answers.questions)} questions fail in at least {100 * share:g} % of the systems"
    if not rows:
        say(f"{found}: nothing to review, nothing written")
        return
    unanswerable.write_review(rows, output)
    say(f"{found}; wrote {output}: fill in each verdict ({' or '.join(unanswerable.VERDICTS)})")


@app.command("confirm", epilog=examples("siq unanswerable confirm review.jsonl --output unanswerable.json"))
def confirm_command(
    review: Annotated[Path, typer.Argument(help="Review file with a verdict on every line.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Set to write, a JSON file.")],
    force: Force = False,
) -> None:
    """Store the confirmed questions of a review as an unanswerable set."""
    refuse_to_overwrite(output, force)
    confirmed = unanswerable.confirm(review)
    unanswerable.write_set(confirmed, output)
    verdicts = [row["verdict"] for row in confirmed["questions"]]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in unanswerable.CONFIRMED)
    say(f"wrote {output}: {counts} of {confirmed['reviewed']} reviewed")
