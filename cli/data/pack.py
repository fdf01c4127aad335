"""Define `siq data pack`: make one archive of a folder of tasks."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import Force, output_option
from speechiq.core.console import count_of, say, show


@examples("siq data pack calls", "siq data pack calls -o shared/calls.zip --force")
def pack(
    folder: Annotated[Path, typer.Argument(help="Folder of tasks, as `siq data new` makes it.")],
    output: Annotated[
        Path | None, output_option("Archive to write, FILE.zip; by default named after the folder.")
    ] = None,
    force: Force = False,
) -> None:
    """Make one archive of a folder of tasks that a colleague can run.

    It has the tasks, the table of clips, the audio and the questions.
    """
    from speechiq.siq_tasks.catalog.pack import check_archive, list_contents, write_archive

    contents = list_contents(folder)
    archive = output or Path(f"{contents.root.name}.zip")
    check_archive(archive, force)
    write_archive(contents, archive)
    for file in contents.missing:
        say(f"{folder / file} is not written yet, so Apply does not run: see `siq data questions`")
    name = shlex.quote(contents.root.name)
    show(
        f"wrote {archive}: {count_of(len(contents.files), 'file')}, {count_of(contents.clips, 'clip')} among them, "
        f"{archive.stat().st_size / 1e6:.1f} MB. A colleague types:",
        f"  python -m zipfile -e {shlex.quote(archive.name)} .",
        f"  siq eval SYSTEM --include-path {name} --tasks {','.join(contents.names)} --output runs/{name}",
    )
