"""Define `siq data new` and `siq data pack`: make tasks of your own clips, and an archive of them."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import (
    Force,
    output_option,
    split_names,
)
from speechiq.core.checkpoints.names import DEMO, choose_source, demo_folder
from speechiq.core.console import count_of, list_some, say, show
from speechiq.core.files.plain import (
    is_file,
)

#: The demo's language model.
SMALL = "SmolLM2-135M-Instruct"


@examples(
    "siq data new calls --audio recordings --text references.csv",
    "siq data new anrufe --audio recordings --text references.csv --language de --force",
    "siq data new calls --text references.csv",
)
def new(
    name: Annotated[str, typer.Argument(help="Name of the data set: lower-case letters, digits and '_'.")],
    text: Annotated[
        Path,
        typer.Option(
            help="CSV, TSV or JSONL file with the columns audio, text and, optionally, id, cluster, entities; or a "
            "manifest of NeMo, or a text file of Kaldi with an id and its words per line."
        ),
    ],
    audio: Annotated[
        Path | None, typer.Option(help="Folder of audio files; without it, a set for transcripts in files alone.")
    ] = None,
    output: Annotated[Path | None, output_option("Folder for the tasks; by default named after the set.")] = None,
    embedder: Annotated[
        str | None,
        typer.Option(help="Language model that Understand compares texts with; by default the small one of the demo."),
    ] = None,
    group_by: Annotated[
        str | None, typer.Option(help="Columns with groups of clips, such as gender,accent, for scores by group.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="Code of the language of the clips, such as de; without it, English.")
    ] = None,
    assistant: Annotated[
        str | None,
        typer.Option(help="Language model of an assistant; also makes the task siq_NAME_distance with its distances."),
    ] = None,
    force: Force = False,
) -> None:
    """Make three tasks, one per level, of your own clips and references."""
    from speechiq.metrics.distance.readers import DEFAULT_EMBEDDER
    from speechiq.siq_tasks.catalog.new import create, read_set_name

    if (dataset := read_set_name(name)) != name:
        say(f"the data set is called {dataset}: names of tasks have no capitals and no '-'")
    folder = output or Path(dataset)
    small = choose_source(SMALL)
    groups = split_names(group_by)
    made = create(dataset, audio, text, folder, embedder or small, assistant, groups, language, force=force)
    for warning in made.warnings:
        say(warning)
    if embedder is None:
        say(f"Understand compares texts with {small}; that of the paper is --embedder {DEFAULT_EMBEDDER} (gated)")
    place = shlex.quote(str(folder))
    system = "demo" if language is None else f"{choose_source('whisper-base')}+{small},llm_answer=likelihood"
    if audio is None:
        say("the set has no audio: its systems are transcripts:FILE, with +LLM for Apply, gold and silence")
        system = f"transcripts:FILE+{small},llm_answer=likelihood"
    run = f"siq eval {system} --include-path {place} --output {shlex.quote(f'runs/{dataset}')} --tasks"
    fetch = [] if is_file(demo_folder(small.removeprefix(DEMO)) / "config.json") else ["  siq demo fetch"]
    show(
        f"{', '.join(made.tasks)} are in {folder}.",
        f"Ids of the clips: {list_some(made.ids, 5)}; `siq list tasks {place}` lists all. Next:",
        *fetch,
        f"  {run} {','.join(made.tasks[:2])}",
        "Apply needs questions: a model writes them (`siq data questions --help`), or you. Then run all three:",
        f"  siq data questions --dataset {place} --template",
        f"  {run} siq_{dataset}",
    )


@examples("siq data pack calls", "siq data pack calls -o shared/calls.zip --force")
def pack_tasks(
    folder: Annotated[Path, typer.Argument(help="Folder of tasks, as `siq data new` makes it.")],
    output: Annotated[
        Path | None, output_option("Archive to write, FILE.zip; by default named after the folder.")
    ] = None,
    force: Force = False,
) -> None:
    """Make one archive of a folder of tasks that a colleague can run.

    It has the tasks, the table of clips, the audio and the questions.
    """
    from speechiq.siq_tasks.catalog.folders import check_archive, list_contents, write_archive

    contents = list_contents(folder)
    archive = output or Path(f"{contents.root.name}.zip")
    check_archive(archive, force)
    write_archive(contents, archive)
    for file in contents.missing:
        say(f"{folder / file} is not written yet, so Apply does not run: see `siq data questions`")
    name = shlex.quote(contents.root.name)
    clips = f"{count_of(contents.clips, 'clip')} among them, " if contents.clips else ""
    show(
        f"wrote {archive}: {count_of(len(contents.files), 'file')}, {clips}"
        f"{archive.stat().st_size / 1e6:.1f} MB. A colleague types:",
        f"  python -m zipfile -e {shlex.quote(archive.name)} .",
        f"  siq eval SYSTEM --include-path {name} --tasks {','.join(contents.names)} --output runs/{name}",
    )
