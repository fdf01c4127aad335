"""Define the options that several commands of `siq` share, and read their values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores import norms
from speechiq.reducer.scores import scale as siq
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.siq_systems import read_systems
from speechiq.reducer.studies import unanswerable
from speechiq.reducer.studies.unanswerable import ConfirmedSet

MAX_DRAWS = 1_000_000


def read_path(text: str) -> Path:
    """Return a path of runs.

    Raises:
        SpeechIQError: The path is empty; `Path` would read it as the current folder.
    """
    if not text:
        raise SpeechIQError(
            "RUNS: the path is empty; set the variable that it comes from, or write . for the current folder"
        )
    return Path(text)


Runs = Annotated[
    list[Path],
    typer.Argument(
        help="Folders of runs (lm_eval with --log_samples), or single results files.",
        parser=read_path,
        metavar="RUNS",
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        help=f"Choose the rule of the level weights: {', '.join(siq.RULES)}, or three numbers for Remember, Understand "
        f"and Apply such as 0.04,0.75,0.21; {siq.DEFAULT_RULE} (the paper's eq. 6) by default."
    ),
]
NormsFile = Annotated[
    str | None,
    typer.Option(
        "--norms",
        help="Score on the scale of norms: a file of `siq norms build`, or a name that `siq norms list` shows.",
    ),
]
AllowMismatch = Annotated[
    bool,
    typer.Option("--allow-mismatch", help="If runs differ in clips or settings, score what they share and mark it."),
]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing", help="Leave out runs whose results file is missing or names no task.")
]
Exclude = Annotated[
    Path | None, typer.Option(help="Leave out of Apply the questions of a set, a file of `siq unanswerable confirm`.")
]
Draws = Annotated[
    int,
    typer.Option(min=0, max=MAX_DRAWS, help="Set the number of draws for the intervals; 0 leaves the intervals out."),
]
Only = Annotated[
    str | None,
    typer.Option("--levels", help=f"Score only some of {','.join(LEVELS)}; SIQ needs all of them."),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        help="Score a level by another of its columns, LEVEL=COLUMN; give it once per level. "
        + "; ".join(f"{level}: {', '.join(each.measure.columns)}" for level, each in LEVELS.items())
        + ".",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


def read_norms(norms_file: str | None, weights: str | None) -> Norms | None:
    """Return the norms that `--norms` names, or None without it.

    Raises:
        SpeechIQError: The norms cannot be read, or were built with other level weights than `weights`.
    """
    if norms_file is None:
        return None
    scale = norms.read(norms_file)
    if weights is not None and weights != scale.rule:
        raise SpeechIQError(
            f"--weights {weights} and --norms {norms_file}: these norms were built with {scale.rule}; "
            "leave --weights out, or build norms with them"
        )
    return scale


def read_set(exclude: Path | None) -> ConfirmedSet:
    """Return the set that `--exclude` names, or an empty one without it."""
    return unanswerable.read(exclude) if exclude else unanswerable.NOTHING


def read(
    runs: list[Path], excluded: ConfirmedSet, allow_missing: bool = False, *, levels: Mapping[str, Category] = LEVELS
) -> list[System]:
    """Return the systems without the questions of a set, after printing the warnings about the runs."""
    systems, warnings = read_systems(runs, allow_missing, levels=levels)
    for warning in warnings:
        say(f"warning: {warning}")
    return unanswerable.leave_out(systems, excluded)
