"""Define `siq norms`: build a scale from a population of systems, and show the scales that exist."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.options import (
    AllowMissing,
    Exclude,
    Force,
    Measures,
    Runs,
    Weights,
    read,
    read_levels,
    read_set,
)
from speechiq.core.checksummed import shorten
from speechiq.core.console import say
from speechiq.core.files import check_output
from speechiq.reducer.show.remarks import FEW
from speechiq.reducer.siq import norms
from speechiq.reducer.siq import scale as siq
from speechiq.reducer.siq.norms.file import ADVICE_FILE

app = typer.Typer(no_args_is_help=True, help="Norms: a pool of systems as the scale for others.")


@app.callback()
def norms_command() -> None:
    """Keeps `build` a command of its own."""


@app.command("build")
def build_command(
    runs: Runs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Norms file to write, JSON.")],
    name: Annotated[str | None, typer.Option(help="What tables call them; by default the file's name.")] = None,
    weights: Weights = None,
    allow_missing: AllowMissing = False,
    exclude: Exclude = None,
    measure: Measures = None,
    force: Force = False,
) -> None:
    """Freeze the scale of the systems found in RUNS, for `siq score --norms`."""
    check_output(output, force, ADVICE_FILE)
    siq.check_rule(weights or siq.DEFAULT_RULE)
    excluded = read_set(exclude)
    systems = read(runs, excluded, allow_missing, levels=read_levels(measure, None))
    built = norms.build(systems, output.stem if name is None else name, weights or siq.DEFAULT_RULE)
    if len(systems) < FEW:
        say(
            f"warning: norms of only {len(systems)} systems: each score on them depends strongly on which systems "
            f"they are; build norms from {FEW} or more"
        )
    norms.write(built, output)
    clips = max(len(of.clips) for of in built.levels.values())
    without = f", without {len(excluded)} questions of set {shorten(built.excluded)}" if built.excluded else ""
    say(f"wrote {output}: norms {built.title} of {len(built.systems)} systems on {clips} clips{without}")
