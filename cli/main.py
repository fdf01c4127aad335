"""Define the `siq` command, from the commands of this folder."""

from __future__ import annotations

import errno
import os
import sys
from typing import Annotated

import typer

from speechiq.cli import (
    compare,
    demo,
    doctor,
    hallucination,
    norms,
    questions,
    report,
    run,
    score,
    store,
    systems,
    tasks,
    unanswerable,
)
from speechiq.cli.eval import EXAMPLES as EVAL_EXAMPLES
from speechiq.cli.eval import eval_command
from speechiq.cli.examples import examples
from speechiq.cli.versions import list_versions
from speechiq.core.console import say, show
from speechiq.core.errors import SpeechIQError

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
#: Panels of `siq --help`, in their order: what a user wants to do.
RUN, SCORE, COMPARE, PUBLISH, PREPARE, MACHINE = "Run", "Score", "Compare", "Publish", "Prepare data", "Machine"

app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "siq demo fetch",
        "siq demo run --output runs/demo",
        "siq score runs/demo",
    ),
)
app.command("eval", rich_help_panel=RUN, epilog=EVAL_EXAMPLES)(eval_command)
app.command("run", rich_help_panel=RUN, context_settings=run.PASS_ON, add_help_option=False)(run.run)
app.add_typer(demo.app, name="demo", rich_help_panel=RUN)
app.command("systems", rich_help_panel=RUN, epilog=systems.EXAMPLES)(systems.systems)
app.command("score", rich_help_panel=SCORE, epilog=score.EXAMPLES)(score.score)
app.command("hallucination", rich_help_panel=SCORE, epilog=hallucination.EXAMPLES)(hallucination.hallucination)
app.add_typer(norms.app, name="norms", rich_help_panel=SCORE)
app.command("compare", rich_help_panel=COMPARE, epilog=compare.EXAMPLES)(compare.compare)
app.command("report", rich_help_panel=PUBLISH, epilog=report.EXAMPLES)(report.report)
app.add_typer(tasks.app, name="tasks", rich_help_panel=PREPARE)
app.add_typer(questions.app, name="questions", rich_help_panel=PREPARE)
app.add_typer(unanswerable.app, name="unanswerable", rich_help_panel=PREPARE)
app.command("doctor", rich_help_panel=MACHINE, epilog=doctor.EXAMPLES)(doctor.doctor)
app.add_typer(store.app, name="store", rich_help_panel=MACHINE)


def _print_versions(wanted: bool) -> None:
    if wanted:
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


def main() -> None:
    """Run `siq`; an error that the user can fix is one line and exit code 1, as is a full disk behind stdout."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except SpeechIQError as error:
        say(str(error))
        sys.exit(1)
    except OSError as error:
        if error.filename is not None or error.errno not in (*NO_SPACE, errno.EPIPE):
            raise
        if error.errno != errno.EPIPE:
            say(f"cannot write the output: {error.strerror}; free space, or send it to another place")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is not tried again at exit
        sys.exit(1)


if __name__ == "__main__":
    main()
