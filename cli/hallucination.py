"""Define `siq hallucination`: how often each system makes up an answer if there is none."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from speechiq.cli.options import WIDTH_OF_A_PIPE, AllowMissing, Force, Runs
from speechiq.core.console import say
from speechiq.core.files import refuse_same, refuse_to_overwrite, write_whole
from speechiq.reducer.read.answers import read_answers
from speechiq.reducer.show.records import FIX
from speechiq.reducer.siq import hallucination as counting
from speechiq.reducer.siq import unanswerable


def hallucination(
    runs: Runs,
    confirmed: Annotated[Path, typer.Option("--set", help="Frozen set of `siq unanswerable confirm`.")],
    json: Annotated[Path | None, typer.Option(help="Write the counts to this JSON file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the counts to this CSV file.")] = None,
    allow_missing: AllowMissing = False,
    force: Force = False,
) -> None:
    """Count every system's majority answers other than (E) on the unanswerable questions."""
    refuse_same((json, csv))
    for path in (json, csv):
        if path is not None:
            refuse_to_overwrite(path, force)
    questions = unanswerable.read(confirmed)
    answers = read_answers(runs, allow_missing)
    for warning in answers.warnings:
        say(f"warning: {warning}")
    counts = counting.count(answers, questions)
    Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE).print(counting.as_table(counts))
    for path, as_text in ((json, counting.as_json), (csv, counting.as_csv)):
        if path is not None:
            write_whole(path, as_text(counts).encode(), FIX)
            say(f"wrote {path}")
