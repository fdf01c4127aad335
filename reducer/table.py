"""Shows scores: a table for the terminal, JSON with every digit, CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.files import write_whole
from speechiq.reducer.levels import LEVELS, per_cent
from speechiq.reducer.siq import Scores

MEND = "name a file in a folder that exists and is yours"


def as_table(scores: Scores) -> Table:
    """The ranking as people read it: raw scores in per cent, Z in standard deviations, SIQ.

    The Remember column is the word error rate, so there less is better. Names are plain text, never markup.
    """
    weights = ", ".join(f"{level.title()} {of.weight:.3f}" for level, of in scores.scale.levels.items())
    table = Table(
        title="Speech IQ",
        caption=f"{len(scores.systems)} systems; level weights ({scores.scale.rule}): {weights}",
        box=SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
    )
    table.add_column("Rank", justify="right", no_wrap=True)
    table.add_column("System", overflow="fold")
    for level in scores.levels:
        table.add_column(f"{level.title()}\n{LEVELS[level].unit}", justify="right", no_wrap=True)
        table.add_column("\nZ", justify="right", no_wrap=True)
    table.add_column("SIQ", justify="right", no_wrap=True, style="bold")
    for row in _rows(scores):
        cells = [
            cell
            for level, of in row["levels"].items()
            for cell in (f"{per_cent(level, of['raw']):z.2f}", f"{of['z']:+z.2f}")
        ]
        table.add_row(str(row["rank"]), Text(row["system"]), *cells, f"{row['siq']:.2f}")
    return table


def as_json(scores: Scores) -> dict[str, Any]:
    """The ranking as plain data, unrounded, best system first.

    Returns:
        `{"weights": {level: w}, "rule": rule, "systems": [{"system", "siq", "rank", "levels":
        {level: {"raw", "weighted", "z"}}}]}`. `raw` grows with ability: Remember's is -WER.
    """
    return {
        "weights": {level: of.weight for level, of in scores.scale.levels.items()},
        "rule": scores.scale.rule,
        "systems": _rows(scores),
    }


def as_csv(scores: Scores) -> str:
    """The ranking as CSV, one row per system, unrounded; columns `<level>_raw` and so on.

    A name that a spreadsheet would take for a formula gets a quote in front.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    parts = [(level, part) for level in scores.levels for part in ("raw", "weighted", "z")]
    writer.writerow(["rank", "system", "siq", *(f"{level}_{part}" for level, part in parts)])
    for row in _rows(scores):
        numbers = [row["levels"][level][part] for level, part in parts]
        writer.writerow([row["rank"], without_formula(row["system"]), row["siq"], *numbers])
    return text.getvalue()


def without_formula(name: str) -> str:
    """A name that no spreadsheet computes.

    >>> without_formula("=1+1"), without_formula("openai/whisper-base")
    ("'=1+1", 'openai/whisper-base')
    """
    return "'" * name.lstrip().startswith(("=", "+", "-", "@")) + name


def write_json(scores: Scores, path: Path) -> None:
    """Writes `as_json` to a file, whole or not at all."""
    text = json.dumps(as_json(scores), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(path, text.encode(), MEND)


def write_csv(scores: Scores, path: Path) -> None:
    """Writes `as_csv` to a file, whole or not at all."""
    write_whole(path, as_csv(scores).encode(), MEND)


def _rows(scores: Scores) -> list[dict[str, Any]]:
    """One dict per system, by rank and then by name."""
    order = np.lexsort((np.array(scores.systems), scores.ranks))
    return [
        {
            "system": scores.systems[j],
            "siq": float(scores.siq[j]),
            "rank": int(scores.ranks[j]),
            "levels": {
                level: {part: float(values[j]) for part, values in of._asdict().items()}
                for level, of in scores.levels.items()
            },
        }
        for j in order
    ]
