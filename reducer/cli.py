"""The `siq` command. Scoring reads files and prints; what needs torch or lm-eval is imported when called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import siq, table
from speechiq.reducer.pool import align
from speechiq.reducer.runs import read_systems
from speechiq.siq_tasks.cli import tasks
from speechiq.siq_tasks.questions.cli import app as questions

app = typer.Typer(no_args_is_help=True, add_completion=False)
demo = typer.Typer(no_args_is_help=True, help="The bundled demo set and its models.")
app.add_typer(demo, name="demo")
app.add_typer(tasks, name="tasks")
app.add_typer(questions, name="questions")
PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

WIDTH_OF_A_PIPE = 240


@app.callback()
def siq_command() -> None:
    """Speech IQ of voice-understanding systems, from what lm-eval wrote."""


@app.command("score")
def score_command(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Folders that lm_eval wrote to with --log_samples, or single results files."),
    ],
    weights: Annotated[
        str,
        typer.Option(
            help=f"Rule of the level weights: {' or '.join(siq.RULES)}. "
            "The first is the paper's text (eq. 6), the second what its tables follow."
        ),
    ] = "inverse-std",
    json: Annotated[Path | None, typer.Option(help="Write the scores to this JSON file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the scores to this CSV file.")] = None,
) -> None:
    """Score all systems found in RUNS against each other and print the ranking."""
    systems, warnings = read_systems(runs)
    for warning in warnings:
        _say(f"warning: {warning}")
    pool = align(systems)
    scores = siq.score(pool, siq.calibrate(pool, weights))
    Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE).print(table.as_table(scores))
    for path, write in ((json, table.write_json), (csv, table.write_csv)):
        if path is not None:
            write(scores, path)
            _say(f"wrote {path}")


@app.command("run", context_settings=PASS_ON, add_help_option=False)
def run_command(context: typer.Context) -> None:
    """Run lm_eval with the suite in place, also where no start-up file runs (`pip install --target`)."""
    from speechiq.harness_patch import plugins

    plugins.install()
    from lm_eval.__main__ import cli_evaluate

    sys.argv = ["lm_eval", *context.args]
    cli_evaluate()


@demo.command("fetch")
def fetch_command() -> None:
    """Fetch the demo's models (370 MB, once) and convert them into transformers folders."""
    from speechiq.siq_tasks.demo.fetch import fetch

    for folder in fetch():
        _say(f"{folder.name} is in {folder}")


@demo.command("run")
def run_demo_command(
    output: Annotated[Path, typer.Option(help="Folder for lm-eval's results and the scores.")] = Path("runs/demo"),
) -> None:
    """Run five systems on the demo set and print their SIQ; takes minutes on a laptop."""
    from speechiq.siq_tasks.demo.run import run

    run(output)
    score_command([output], json=output / "siq.json", csv=output / "siq.csv")
    _say(f"the runs are in {output}, a folder a system")


def main() -> None:
    """Runs `siq`; an error that the user can mend is one line on stderr and exit code 1."""
    try:
        app()
    except SpeechIQError as error:
        _say(str(error))
        sys.exit(1)


def _say(line: str) -> None:
    print(f"siq: {line}", file=sys.stderr)


if __name__ == "__main__":
    main()
