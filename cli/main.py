"""Define the `siq` command, from the commands of this folder."""

from __future__ import annotations

import errno
import os
import sys

import typer

from speechiq.cli import demo, norms, store, unanswerable
from speechiq.cli.compare import compare
from speechiq.cli.hallucination import hallucination
from speechiq.cli.questions import app as questions
from speechiq.cli.report import report
from speechiq.cli.run import PASS_ON, run
from speechiq.cli.score import score
from speechiq.cli.tasks import tasks
from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Speech IQ of voice-understanding systems, from what lm-eval wrote.",
)
app.command("score")(score)
app.command("compare")(compare)
app.command("report")(report)
app.command("run", context_settings=PASS_ON, add_help_option=False)(run)
app.command("hallucination")(hallucination)
app.add_typer(unanswerable.app, name="unanswerable")
app.add_typer(norms.app, name="norms")
app.add_typer(store.app, name="store")
app.add_typer(demo.app, name="demo")
app.add_typer(tasks, name="tasks")
app.add_typer(questions, name="questions")


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
        if error.filename is not None or error.errno not in (*NO_ROOM, errno.EPIPE):
            raise
        if error.errno != errno.EPIPE:
            say(f"cannot write the output: {error.strerror}; make room, or send it elsewhere")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is not tried again at exit
        sys.exit(1)


if __name__ == "__main__":
    main()
