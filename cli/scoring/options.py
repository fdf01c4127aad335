"""Define the options of commands that score runs, and read their values."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.options import EXPERT
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.scores import norms
from speechiq.reducer.scores import scale as siq
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.studies import unanswerable
from speechiq.reducer.studies.unanswerable import ConfirmedSet

#: Formats of commands whose output is tables.
TABLES = ("json", "csv", "markdown", "latex")
Weights = Annotated[
    str | None,
    typer.Option(
        help=f"Choose the rule of the level weights: {', '.join(siq.RULES)}, or three numbers for Remember, Understand "
        f"and Apply such as 0.04,0.75,0.21; {siq.DEFAULT_RULE} (the paper's eq. 6) by default.",
        rich_help_panel=EXPERT,
    ),
]
NormsFile = Annotated[
    str | None,
    typer.Option(
        "--norms",
        help="Score on the scale of norms: a file of `siq score --save-norms`, or a name that `siq list norms` shows.",
    ),
]
Exclude = Annotated[
    Path | None,
    typer.Option(help="Leave out of Apply the questions of a set, a file of `siq study unanswerable --review`."),
]
Levels = Annotated[
    str | None, typer.Option("--levels", help=f"Use only some of {','.join(LEVELS)}; SIQ needs all of them.")
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        help="Score levels by other columns of the sample rows: LEVEL=COLUMN, with commas between them. "
        + "; ".join(f"{level}: {', '.join(each.measure.columns)}" for level, each in LEVELS.items())
        + ".",
    ),
]


def read_norms(norms_file: str | None, weights: str | None) -> Norms | None:
    """Return the norms that `--norms` names, or None without it; refuse weights that are invalid or not theirs."""
    siq.check_rule(weights or siq.DEFAULT_RULE)
    if norms_file is None:
        return None
    scale = norms.read_norms(norms_file)
    if weights is not None and weights != scale.rule:
        raise SpeechIQError(
            f"--weights {weights} and --norms {norms_file}",
            f"these norms were built with {scale.rule}",
            "leave --weights out, or build norms with them",
        )
    return scale


def read_set(exclude: Path | None) -> ConfirmedSet:
    """Return the set that `--exclude` names, or an empty one without it."""
    return unanswerable.read(exclude) if exclude else unanswerable.NOTHING
