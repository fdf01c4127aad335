"""Define `siq list norms`: the scales that exist, and the population behind one of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AsJson, complete_norms
from speechiq.cli.tables import print_json, print_table
from speechiq.core.console import show
from speechiq.core.files.checksummed import shorten
from speechiq.reducer.scores.norms import SHIPPED, Norms, read
from speechiq.reducer.scores.norms.norms import VERSION


@examples("siq list norms", "siq list norms demo", "siq list norms norms.json --json")
def norms(
    name: Annotated[
        str | None,
        typer.Argument(help="Norms to show: a name in the list, or a file.", autocompletion=complete_norms),
    ] = None,
    json: AsJson = False,
) -> None:
    """List the norms of the package, or show some norms.

    With NAME, show its population, its levels and the conditions of its tasks.
    """
    summaries = [_summarize(read(shown)) for shown in ([name] if name else SHIPPED)]
    if json:
        print_json(summaries[0] if name else summaries)
    elif name:
        _show_norms(summaries[0])
    else:
        print_table("Norms", ["Name", "Systems", "Clips", "Tasks", "sha256"], map(_as_row, summaries))
        show("Use: siq score RUNS --norms NAME. Details: siq list norms NAME")


def _as_row(summary: dict[str, Any]) -> tuple[object, ...]:
    levels = summary["levels"].values()
    tasks = ", ".join(str(task["task"]) for level in levels for task in level["tasks"])
    clips = max(level["clips"] for level in levels)
    return summary["name"], len(summary["systems"]), clips, tasks, shorten(summary["sha256"])


def _show_norms(summary: dict[str, Any]) -> None:
    levels = summary.pop("levels")
    for key, value in summary.items():
        show(f"{key}: {', '.join(value) if isinstance(value, list) else value or 'none'}")
    print_table(
        "Levels (X of eq. 5; error rates count negative)",
        ["Level", "Column", "Mean", "Std of systems", "Spread of raw scores", "Weight", "Clips", "Questions"],
        [
            (name, *(f"{value:.4f}" if isinstance(value, float) else value for value in list(level.values())[:-1]))
            for name, level in levels.items()
        ],
    )
    for task in (task for level in levels.values() for task in level["tasks"]):
        show(", ".join(f"{key}: {value}" for key, value in task.items() if value is not None))


def _summarize(norms: Norms) -> dict[str, Any]:
    """Return everything of some norms but their clips."""
    return {
        "name": norms.name,
        "sha256": norms.sha256,
        "version": VERSION,
        "rule": norms.rule,
        "excluded": norms.excluded,
        "systems": norms.systems,
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
            for name, level in norms.levels.items()
        },
    }
