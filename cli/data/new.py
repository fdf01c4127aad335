"""Define `siq data new`: make tasks of your own recordings."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import output_option, split_names
from speechiq.core.console import say, show

#: How many ids are printed.
SHOWN = 5


@examples("siq data new calls --audio recordings --text references.csv --output calls")
def new(
    name: Annotated[str, typer.Argument(help="Name of the data set: lower-case letters and digits.")],
    audio: Annotated[Path, typer.Option(help="Folder of audio files.")],
    text: Annotated[
        Path,
        typer.Option(
            help="CSV, TSV or JSONL file with the columns audio, text and, optionally, id, cluster, entities."
        ),
    ],
    output: Annotated[
        Path | None,
        output_option("Folder for the tasks; by default named after the set."),
    ] = None,
    embedder: Annotated[str | None, typer.Option(help="Language model that Understand compares texts with.")] = None,
    group_by: Annotated[
        str | None,
        typer.Option(help="Columns with groups of clips, such as gender,accent, for scores by group."),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(help="Code of the language of the clips, such as de; without it, English."),
    ] = None,
    assistant: Annotated[
        str | None,
        typer.Option(help="Language model of an assistant; also makes the task siq_NAME_distance with its distances."),
    ] = None,
) -> None:
    """Make three tasks, one per level, of your own clips and references."""
    from speechiq.metrics.distance.embedder import DEFAULT_EMBEDDER
    from speechiq.siq_tasks.catalog.new import create

    folder = output or Path(name)
    groups = split_names(group_by)
    made = create(name, audio, text, folder, embedder or DEFAULT_EMBEDDER, assistant, groups, language)
    for warning in made.warnings:
        say(warning)
    if made.left_out:
        say(
            f"{len(made.left_out)} of {len(made.ids)} clips, such as {made.left_out[0]!r}, have no word to score and "
            f"are left out"
        )
    more = f" and {len(made.ids) - SHOWN} more" if len(made.ids) > SHOWN else ""
    show(
        f"{', '.join(made.tasks)} are in {folder}.",
        f"Ids of the clips: {', '.join(made.ids[:SHOWN])}{more}; `siq list tasks {folder}` lists all. Next:",
        f"  siq data questions --dataset {folder} --writer ... --checker ...",
        f"  siq eval SYSTEM --include-path {folder} --tasks siq_{name} --output runs/{name}",
        f"  siq data pack {folder}",
    )
