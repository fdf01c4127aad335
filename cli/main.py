"""Define the `siq` command, from the commands of this folder."""

from __future__ import annotations

import errno
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from speechiq.cli import (
    compare,
    correlate,
    demo,
    doctor,
    evaluation,
    hallucination,
    judge,
    labels,
    norms,
    predict,
    questions,
    report,
    robustness,
    run,
    score,
    store,
    systems,
    tasks,
    unanswerable,
    voices,
)
from speechiq.cli.examples import examples
from speechiq.cli.versions import list_versions
from speechiq.core.console import say_error, show
from speechiq.core.errors import SpeechIQError

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
#: What a user wants to do -> the commands for it, in the order of `siq --help`.
PANELS = {
    "Run": ("eval", "run", "demo", "systems"),
    "Score": ("score", "hallucination", "norms", "judge"),
    "Compare": ("compare", "correlate", "predict", "labels", "robustness"),
    "Publish": ("report",),
    "Prepare data": ("tasks", "questions", "voices", "unanswerable"),
    "Machine": ("doctor", "store"),
}
PANEL_OF = {command: panel for panel, commands in PANELS.items() for command in commands}


class ByPurpose(TyperGroup):
    """The commands of `siq` in the order of `PANELS`; typer would list those with subcommands last."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(PANEL_OF)


app = typer.Typer(
    cls=ByPurpose,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "siq demo fetch",
        "siq eval demo letter:B --tasks siq_demo --norms demo --output runs/first",
        "siq score runs/first --norms demo",
        "siq doctor",
    ),
)
for name, command, epilog in (
    ("eval", evaluation.evaluate, evaluation.EXAMPLES),
    ("systems", systems.systems, systems.EXAMPLES),
    ("score", score.score, score.EXAMPLES),
    ("hallucination", hallucination.hallucination, hallucination.EXAMPLES),
    ("compare", compare.compare, compare.EXAMPLES),
    ("correlate", correlate.correlate, correlate.EXAMPLES),
    ("robustness", robustness.robustness, robustness.EXAMPLES),
    ("predict", predict.predict, predict.EXAMPLES),
    ("report", report.report, report.EXAMPLES),
    ("doctor", doctor.doctor, doctor.EXAMPLES),
):
    app.command(name, rich_help_panel=PANEL_OF[name], epilog=epilog)(command)
for group in (demo, judge, labels, norms, tasks, questions, voices, unanswerable, store):
    name = group.__name__.rpartition(".")[2]
    app.add_typer(group.app, name=name, rich_help_panel=PANEL_OF[name])
app.command("run", rich_help_panel=PANEL_OF["run"], context_settings=run.PASS_ON, add_help_option=False)(run.run)


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
        say_error(str(error))
        sys.exit(1)
    except OSError as error:
        if error.filename is not None or error.errno not in (*NO_SPACE, errno.EPIPE):
            raise
        if error.errno != errno.EPIPE:
            say_error(f"cannot write the output: {error.strerror}; free space, or send it to another place")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is not tried again at exit
        sys.exit(1)


if __name__ == "__main__":
    main()
