"""`siq tasks`: data sets of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

tasks = typer.Typer(no_args_is_help=True, help="Tasks over clips of your own.")


@tasks.callback()
def tasks_command() -> None:
    """Keeps `new` a command of its own."""


@tasks.command("new")
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
    print(f"{', '.join(made)} are in {folder}. Next:")
    print(f"  siq questions write --dataset {folder} --writer ... --checker ...")
    print(f"  lm_eval --include_path {folder} --tasks siq_{name} --model hf-audio ...")
