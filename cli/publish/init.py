"""Define `siq publish init`: write the files of a repository of results."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.core.console import say
from speechiq.reducer.publishing.repository import write_repository


@examples("siq publish init board")
def init(
    folder: Annotated[Path, typer.Argument(help="Folder of the repository; made if needed.")],
) -> None:
    """Write the files of a repository of results, such as its checks.

    A workflow for GitHub checks every submission; `declaration.yaml` and `SUBMIT.md` are for those who submit.
    """
    for written in write_repository(folder):
        say(f"wrote {written}")
