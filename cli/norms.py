"""Define `siq norms`: build a scale from a population of systems, and show the scales that exist."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from speechiq.cli.completion import complete_norms
from speechiq.cli.examples import examples
from speechiq.cli.options import (
    AllowMissing,
    Exclude,
    Force,
    Measures,
    Runs,
    Weights,
    read,
    read_set,
)
from speechiq.cli.tables import AsJson, print_json, print_table
from speechiq.core.console import count_of, say, show
from speechiq.core.files.checksummed import shorten
from speechiq.core.files.plain import check_output
from speechiq.reducer.scores import norms
from speechiq.reducer.scores import scale as siq
from speechiq.reducer.scores.levels import choose_levels
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.norms.file import ADVICE_FILE
from speechiq.reducer.scores.norms.norms import VERSION
from speechiq.reducer.scores.remarks import FEW

app = typer.Typer(
    no_args_is_help=True, help="Build norms, the scale that a reference population sets, and show those that exist."
)


@app.command("list", epilog=examples("siq norms list", "siq norms list --json"))
def list_command(json: AsJson = False) -> None:
    """List the norms that come with speechiq."""
    shipped = [norms.read(name) for name in norms.SHIPPED]
    if json:
        print_json([_summarize(each) for each in shipped])
        return
    rows = [
        (each.name, len(each.systems), _count_clips(each), _name_tasks(each), shorten(each.sha256)) for each in shipped
    ]
    print_table("Norms", ["Name", "Systems", "Clips", "Tasks", "sha256"], rows)
    show("Use: siq score RUNS --norms NAME. Details: siq norms show NAME")


@app.command("show", epilog=examples("siq norms show demo", "siq norms show demo --json"))
def show_command(
    name: Annotated[
        str, typer.Argument(help="Name that `siq norms list` shows, or a file.", autocompletion=complete_norms)
    ],
    json: AsJson = False,
) -> None:
    """Show the population, the levels and the conditions of some norms."""
    shown = norms.read(name)
    if json:
        print_json(_summarize(shown))
        return
    show(
        f"norms: {shown.name}",
        f"sha256: {shown.sha256}",
        f"version of the format: {VERSION}",
        f"rule of the level weights: {shown.rule}",
        f"unanswerable set left out: {shown.excluded or 'none'}",
        f"population: {count_of(len(shown.systems), 'system')}",
        *(f"  {system}" for system in shown.systems),
    )
    print_table(
        "Levels (X of eq. 5; error rates count negative)",
        ["Level", "Column", "Mean", "Std of systems", "Spread of raw scores", "Weight", "Clips", "Questions"],
        [
            (
                level, each.metric, f"{each.mean:.4f}", f"{each.std:.4f}", f"{each.spread:.4f}", f"{each.weight:.3f}",
                len(each.clips), sum(map(len, each.questions.values())) or None,
            )
            for level, each in shown.levels.items()
        ],
    )  # fmt: skip
    for each in shown.levels.values():
        for task in each.tasks:
            show(", ".join(f"{key}: {value}" for key, value in task.items() if value is not None))


@app.command("build", epilog=examples("siq norms build runs --output norms.json --name population2026"))
def build_command(
    runs: Runs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Norms file to write, a JSON file.")],
    name: Annotated[
        str | None, typer.Option(help="Set the name that tables show; by default the name of the file.")
    ] = None,
    weights: Weights = None,
    allow_missing: AllowMissing = False,
    exclude: Exclude = None,
    measure: Measures = None,
    force: Force = False,
) -> None:
    """Store the scale of the systems found in RUNS as norms, for `siq score --norms`."""
    check_output(output, force, ADVICE_FILE)
    siq.check_rule(weights or siq.DEFAULT_RULE)
    excluded = read_set(exclude)
    systems = read(runs, excluded, allow_missing, levels=choose_levels(measure or (), None))
    built = norms.build(systems, output.stem if name is None else name, weights or siq.DEFAULT_RULE)
    if len(systems) < FEW:
        say(
            f"warning: norms of only {count_of(len(systems), 'system')}: each score on them depends "
            "strongly on the choice of "
            f"systems; build norms from {FEW} or more"
        )
    norms.write(built, output)
    clips = _count_clips(built)
    without = (
        f", without {count_of(len(excluded), 'question')} of set {shorten(built.excluded)}" if built.excluded else ""
    )
    say(
        f"wrote {output}: norms {built.name!r} ({shorten(built.sha256)}) of "
        f"{count_of(len(built.systems), 'system')} on {count_of(clips, 'clip')}{without}"
    )


def _count_clips(each: Norms) -> int:
    return max(len(level.clips) for level in each.levels.values())


def _name_tasks(each: Norms) -> str:
    return ", ".join(str(task["task"]) for level in each.levels.values() for task in level.tasks)


def _summarize(each: Norms) -> dict[str, Any]:
    """Return everything of some norms but their clips."""
    return {
        "name": each.name,
        "sha256": each.sha256,
        "version": VERSION,
        "rule": each.rule,
        "excluded": each.excluded,
        "systems": each.systems,
        "levels": {
            name: {
                "metric": level.metric,
                "mean": level.mean,
                "std": level.std,
                "spread": level.spread,
                "weight": level.weight,
                "clips": len(level.clips),
                "questions": sum(map(len, level.questions.values())),
                "tasks": level.tasks,
            }
            for name, level in each.levels.items()
        },
    }
