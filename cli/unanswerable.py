"""Define `siq unanswerable`: from questions that most systems fail to a frozen set of faulty ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.options import AllowMissing, Force, Runs
from speechiq.core.console import say
from speechiq.core.files import refuse_to_overwrite
from speechiq.reducer.read.answers import read_answers
from speechiq.reducer.siq import unanswerable

app = typer.Typer(no_args_is_help=True, help="Questions without an answer: find candidates, confirm them.")


@app.command("find")
def find_command(
    runs: Runs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Review file to write, JSONL.")],
    share: Annotated[float, typer.Option(min=0, max=1, help="Of the systems that fail a candidate, at least.")] = 0.5,
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


@app.command("confirm")
def confirm_command(
    review: Annotated[Path, typer.Argument(help="Review file, a verdict in every line.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Set to write, JSON.")],
    force: Force = False,
) -> None:
    """Freeze the confirmed questions of a review."""
    refuse_to_overwrite(output, force)
    frozen = unanswerable.confirm(review)
    unanswerable.write_set(frozen, output)
    verdicts = [row["verdict"] for row in frozen["questions"]]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in unanswerable.CONFIRMED)
    say(f"wrote {output}: {counts} of {frozen['reviewed']} reviewed")
