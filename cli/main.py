"""Define the `siq` command: its start, its errors and its exit codes."""

import errno
import gc
import os
import sys
from typing import Annotated

import typer

from speechiq.cli.commands import Group, stop_in_one_line, write_examples
from speechiq.core.console import escape_output, open_closed_streams, prepare_quick_end, say_error, show
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.plugins import let_threads_sleep

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
#: A closed pipe, and no temporary folder that takes a file.
WITHOUT_NAME = (errno.EPIPE, errno.ENOENT)
#: Objects after which garbage is collected: runs and packages are read into millions that live to the end, and the
#: 700 of Python cost a fifth of the time.
COLLECTION = 50_000, 20, 20
HELP: tuple[list[str], ...] = ([], ["-h"], ["--help"])

app = typer.Typer(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=write_examples(
        "siq demo fetch",
        "siq eval demo letter:B --tasks siq_demo --norms demo --output runs/first",
        "siq score runs/first --norms demo",
        "siq doctor",
    ),
)


def _print_versions(wanted: bool) -> None:
    if wanted:
        from speechiq.cli.doctor import list_versions

        show(*list_versions())
        raise typer.Exit


@app.callback()
def siq(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_versions, is_eager=True, help="Print versions of the packages in use."
        ),
    ] = False,
) -> None:
    """Measure the speech IQ of voice-understanding systems with lm-evaluation-harness."""


def run_harness(context: typer.Context) -> None:
    """Run lm_eval with this suite; takes all options of `lm_eval run`.

    It also works in an installation whose start-up files do not run (`pip install --target`). `siq run --help` shows
    the options of lm_eval and of speech systems.
    """
    with stop_in_one_line():
        from speechiq.harness_patch.run import main

        main(context.args if context.args not in HELP else ["run", "--help"])


def main() -> None:
    """Run `siq`; an error that the user can fix is one line and exit code 1, as is a full disk."""
    gc.set_threshold(*COLLECTION)
    open_closed_streams()
    escape_output()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except SpeechIQError as error:
        say_error(str(error))
        sys.exit(1)
    except OSError as error:
        if error.errno not in NO_SPACE and (error.filename is not None or error.errno not in WITHOUT_NAME):
            raise
        if error.errno != errno.EPIPE:
            written = "the output" if error.filename is None else repr(error.filename)
            say_error(f"cannot write {written}: {error.strerror}; free space, or send it to another place")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is not tried again at exit
        sys.exit(1)


def run_siq() -> None:
    """Run `siq` as a process, which ends as soon as its work is done."""
    let_threads_sleep()
    end_quickly = prepare_quick_end()
    try:
        main()
    except SystemExit as end:
        if not end.code:
            end_quickly()
        raise


if __name__ == "__main__":
    run_siq()
