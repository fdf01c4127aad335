"""Define `siq tasks`: data sets of your own, and what the tasks of a set ask about."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.core.console import printable, say

app = typer.Typer(no_args_is_help=True, help="Tasks over clips of your own, and what tasks ask about.")

#: How many ids are printed after `siq tasks new`.
SHOWN = 5


@app.command("new")
def new_command(
    name: Annotated[str, typer.Argument(help="Name of the set: lower-case letters and digits.")],
    audio: Annotated[Path, typer.Option(help="Folder of audio files.")],
    text: Annotated[Path, typer.Option(help="CSV, TSV or JSONL with columns audio, text and, if wanted, id.")],
    output: Annotated[Path | None, typer.Option(help="Folder for the tasks; by default named after the set.")] = None,
    embedder: Annotated[str | None, typer.Option(help="Language model of the level Understand.")] = None,
) -> None:
    """Make three tasks of your own clips and references, without writing Python."""
    from speechiq.metrics.embedder import DEFAULT_EMBEDDER
    from speechiq.siq_tasks.new import create

    folder = output or Path(name)
    made = create(name, audio, text, folder, embedder or DEFAULT_EMBEDDER)
    for warning in made.warnings:
        say(warning)
    if made.left_out:
        say(
            f"{len(made.left_out)} of {len(made.ids)} clips, {made.left_out[0]!r} among them, have no word to score "
            f"and are left out"
        )
    more = f" and {len(made.ids) - SHOWN} more" if len(made.ids) > SHOWN else ""
    print(f"{', '.join(made.tasks)} are in {folder}.")
    print(
        f"Ids of the clips: {printable(', '.join(made.ids[:SHOWN]))}{more}; `siq tasks show {folder}` lists all. Next:"
    )
    print(f"  siq questions write --dataset {folder} --writer ... --checker ...")
    print(f"  lm_eval --include_path {folder} --tasks siq_{name} --model hf-audio ...")


@app.command("show")
def show_command(
    dataset: Annotated[str, typer.Argument(help="Name of a data set of the suite, or a folder of `siq tasks new`.")],
    fetch: Annotated[bool, typer.Option("--fetch", help="Fetch the clips of a set that is on the Hub.")] = False,
) -> None:
    """Show the tasks, rows, columns, questions and clips of a data set."""
    from speechiq.siq_tasks.overview import describe

    for line in describe(dataset, fetch=fetch):
        print(printable(line))
