"""Define the options that several commands of `siq` share, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.read.measure import Category
from speechiq.reducer.read.runs import System
from speechiq.reducer.siq import norms, unanswerable
from speechiq.reducer.siq import scale as siq
from speechiq.reducer.siq.levels import LEVELS, choose_levels
from speechiq.reducer.siq.norms import Norms
from speechiq.reducer.siq.systems import read_systems
from speechiq.reducer.siq.unanswerable import ConfirmedSet

WIDTH_OF_A_PIPE = 240
MOST_DRAWS = 1_000_000


def as_place(text: str) -> Path:
    """Return the path of some runs, or refuse an empty one, which `Path` takes for the current folder."""
    if not text:
        raise SpeechIQError("an empty path names no runs; is a variable unset? The current folder is '.'")
    return Path(text)


Runs = Annotated[
    list[Path],
    typer.Argument(
        help="Folders that lm_eval wrote to with --log_samples, or single results files.",
        parser=as_place,
        metavar="RUNS",
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        help=f"Rule of the level weights: {', '.join(siq.RULES)}, or three numbers for "
        f"Remember, Understand and Apply such as 0.04,0.75,0.21; {siq.DEFAULT_RULE} (the paper's eq. 6) by default."
    ),
]
NormsFile = Annotated[
    str | None,
    typer.Option("--norms", help="Score on the scale of norms: a file of `siq norms build`, or the name demo."),
]
AllowMismatch = Annotated[
    bool, typer.Option("--allow-mismatch", help="Take what is shared where runs differ, and mark it.")
]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing", help="Leave runs out whose results file is missing or names no task.")
]
Exclude = Annotated[
    Path | None, typer.Option(help="Leave the questions of a set of `siq unanswerable confirm` out of Apply.")
]
Draws = Annotated[int, typer.Option(min=0, max=MOST_DRAWS, help="Draws for the intervals; 0 leaves them out.")]
Only = Annotated[
    str | None,
    typer.Option(
        "--levels", help=f"Score only some levels, of {','.join(LEVELS)}; without one of them there is no SIQ."
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        help="Score a level by another of its columns, LEVEL=COLUMN, once per level: "
        + "; ".join(f"{level}: {', '.join(of.measure.columns)}" for level, of in LEVELS.items())
        + ".",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


def read_norms(norms_file: str | None, weights: str | None) -> Norms | None:
    if norms_file is None:
        return None
    frozen = norms.read(norms_file)
    if weights is not None and weights != frozen.rule:
        raise SpeechIQError(
            f"--weights {weights} and --norms {norms_file}: these norms were built with {frozen.rule}; "
            "leave --weights out, or build norms with them"
        )
    return frozen


def read_set(exclude: Path | None) -> ConfirmedSet:
    return unanswerable.read(exclude) if exclude else unanswerable.NOTHING


def read_levels(
    measures: Sequence[str] | None, levels: str | None, norms: Norms | None = None
) -> Mapping[str, Category]:
    """Return the levels to score: by the columns that were asked for, else by those of norms.

    Args:
        measures: `LEVEL=COLUMN` each, from `--measure`.
        levels: From `--levels`.
        norms: A level that `measures` does not name is scored as these score it.
    """
    chosen = choose_levels(measures or (), levels)
    if norms is None:
        return chosen
    named = {measure.partition("=")[0].strip() for measure in measures or ()}
    return {level: of if level in named else of.measured_by(norms.levels[level].metric) for level, of in chosen.items()}


def read(
    runs: list[Path], excluded: ConfirmedSet, allow_missing: bool = False, *, levels: Mapping[str, Category] = LEVELS
) -> list[System]:
    """Read the systems without the questions of a set, and print the warnings about the runs."""
    systems, warnings = read_systems(runs, allow_missing, levels=levels)
    for warning in warnings:
        say(f"warning: {warning}")
    return unanswerable.leave_out(systems, excluded)
