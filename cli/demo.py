"""Define `siq demo`: the bundled set and its models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.options import Force
from speechiq.cli.report import report
from speechiq.cli.score import score
from speechiq.core.console import say
from speechiq.core.files import refuse_to_overwrite

app = typer.Typer(no_args_is_help=True, help="The bundled demo set and its models.")


@app.command("fetch")
def fetch_command() -> None:
    """Fetch the demo's models (370 MB, once) and convert them into transformers folders."""
    from speechiq.siq_tasks.demo.fetch import fetch

    for folder in fetch():
        say(f"{folder.name} is in {folder}")


@app.command("run")
def run_command(
    output: Annotated[Path, typer.Option(help="Folder for lm-eval's results and the scores.")] = Path("runs/demo"),
    force: Force = False,
) -> None:
    """Run five systems on the demo set and print their SIQ and write a report; takes minutes on a laptop."""
    from speechiq.siq_tasks.demo.run import run

    files = json, csv, page = [output / name for name in ("siq.json", "siq.csv", "report.html")]
    for path in files:
        refuse_to_overwrite(path, force)
    run(output)
    score([output], json=json, csv=csv, force=True)
    report([output], page, force=True)
    say(f"the runs are in {output}, a folder a system")
