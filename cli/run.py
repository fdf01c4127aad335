"""Define `siq run`: run lm-eval's own command line with the suite in place."""

from __future__ import annotations

import typer

from speechiq.cli.stopping import stop_in_one_line

HELP: tuple[list[str], ...] = ([], ["-h"], ["--help"])


def run(context: typer.Context) -> None:
    """Run lm_eval with this suite; takes all options of `lm_eval run`.

    It also works in an installation whose start-up files do not run (`pip install --target`). `siq run --help` shows
    the options of lm_eval and of speech systems.
    """
    with stop_in_one_line():
        from speechiq.harness_patch.run import main

        main(context.args if context.args not in HELP else ["run", "--help"])
