"""Define `siq run`: run lm-eval's own command line with the suite in place."""

from __future__ import annotations

import sys

import typer

from speechiq.core.console import say

HELP: tuple[list[str], ...] = ([], ["-h"], ["--help"])
PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def run(context: typer.Context) -> None:
    """Run lm_eval with this suite; takes all options of `lm_eval run`.

    It also works in an installation whose start-up files do not run (`pip install --target`). `siq run --help` shows
    the options of lm_eval and of speech systems.
    """
    try:
        from speechiq.harness_patch import plugins

        plugins.install()
        sys.argv = ["lm_eval", *(context.args if context.args not in HELP else ["run", "--help"])]
        from lm_eval.__main__ import cli_evaluate

        cli_evaluate()
    except KeyboardInterrupt as stop:
        say(str(stop) or "stopped by hand")
        raise typer.Exit(130) from None
