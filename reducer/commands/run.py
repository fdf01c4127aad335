"""`siq run`: lm-eval's own command line with the suite in place."""

from __future__ import annotations

import sys

import typer

PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def run(context: typer.Context) -> None:
    """Run lm_eval with the suite in place, also where no start-up file runs (`pip install --target`)."""
    from speechiq.harness_patch import plugins

    plugins.install()
    from lm_eval.__main__ import cli_evaluate

    sys.argv = ["lm_eval", *context.args]
    cli_evaluate()
