"""`siq compare`: whether one system is better than another, and the clips that it hangs on."""

from __future__ import annotations

import json as json_format
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from speechiq.core.console import printable, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import refuse_to_overwrite, write_whole
from speechiq.reducer import compare as comparing
from speechiq.reducer import side_by_side, unanswerable
from speechiq.reducer.bootstrap import DRAWS
from speechiq.reducer.commands.score import (
    WIDTH_OF_A_PIPE,
    AllowMismatch,
    Exclude,
    Force,
    NormsFile,
    Weights,
    read_norms,
)
from speechiq.reducer.compare import Comparison
from speechiq.reducer.conditions import Mismatch, summarise
from speechiq.reducer.levels import LEVELS
from speechiq.reducer.pool import leave_out
from speechiq.reducer.ranking import line_up
from speechiq.reducer.runs import System, read_systems
from speechiq.reducer.said import read_said
from speechiq.reducer.siq import DEFAULT_RULE
from speechiq.reducer.table import MEND

MEND_NAME = "siq compare NAME_A NAME_B RUNS"


def compare(
    a: Annotated[
        str, typer.Argument(metavar="A", help="Folder or results file of one system, or a part of its name in RUNS.")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The same of the other system.")],
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders or results files: where names are looked up, and the pool that sets the SIQ scale."
        ),
    ] = None,
    weights: Weights = None,
    norms_file: NormsFile = None,
    allow_mismatch: AllowMismatch = False,
    exclude: Exclude = None,
    levels: Annotated[
        str | None,
        typer.Option(
            help=f"What must agree for a system to be better, of {','.join([*LEVELS, comparing.SIQ])}; else all."
        ),
    ] = None,
    bootstrap: Annotated[int, typer.Option(help="Draws of clips behind the intervals.")] = DRAWS,
    seed: Annotated[int, typer.Option(min=0, help="Of draws and permutations.")] = 0,
    clips: Annotated[int, typer.Option(min=0, help="Show so many of the clips that drive the difference.")] = 5,
    json: Annotated[Path | None, typer.Option(help="Write the comparison to this JSON file.")] = None,
    force: Force = False,
) -> None:
    """Compare two systems: `siq compare RUN_A RUN_B`, or `siq compare NAME_A NAME_B RUNS`."""
    if json is not None:
        refuse_to_overwrite(json, force)
    norms, rule = read_norms(norms_file, weights), weights or DEFAULT_RULE
    excluded = unanswerable.read(exclude) if exclude else {}
    named, warnings = read_systems(runs) if runs else ([], [])
    for warning in warnings:
        say(f"warning: {warning}")
    one, other = _tell_apart((_choose(a, named), _choose(b, named)), (a, b))
    others = [] if norms else [of for of in named if of.tasks not in (one.tasks, other.tasks)]
    systems = {of.name: of for of in (*others, one, other)}
    pool, scale, mismatches = line_up(leave_out(systems.values(), "apply", excluded), norms, allow_mismatch)
    asked = None if levels is None else [name.strip() for name in levels.split(",")]
    found = comparing.compare(
        pool, one.name, other.name, scale=scale, rule=rule, asked=asked, draws=bootstrap, seed=seed
    )

    scale_name = norms.title if norms else f"the pool of {len(systems)} systems, {rule}" if found.siq else None
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE)
    _print(console, f"A: {one.name}", f"B: {other.name}")
    console.print(side_by_side.as_table(found))
    _print(console, side_by_side.verdict(found), *_notes(found, scale_name, mismatches))
    _print_clips(console, found, one, other, clips)
    if json is not None:
        content = comparing.as_json(found) | {"scale": scale_name, "mismatches": [of.text for of in mismatches]}
        text = json_format.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(json, text.encode(errors="backslashreplace"), MEND)
        say(f"wrote {json}")


def _notes(found: Comparison, scale_name: str | None, mismatches: Sequence[Mismatch]) -> Iterator[str]:
    yield f"SIQ on the scale of {scale_name}" if scale_name else f"no SIQ: {comparing.NO_SCALE}"
    yield f"{found.draws} draws of {len(found.clips)} clips, seed {found.seed}"
    if found.left_out:
        yield f"{found.left_out} draws left out, which hold no clip that tells systems apart"
    if mismatches:
        yield f"not on equal terms: {summarise(mismatches)}"


def _print_clips(console: Console, found: Comparison, one: System, other: System, clips: int) -> None:
    driving = [share for share in found.clips if share.total][:clips]
    said = [read_said(of.tasks, [share.clip for share in driving]) for of in (one, other)]
    total = sum(share.total for share in found.clips)
    whole = f"{total:+z.2f} {'SIQ' if found.siq else 'points in the mean of the raw scores'}"
    for share in driving:
        console.print()
        console.print(side_by_side.clip_table(share, whole, *(of[share.clip] for of in said)))


def _print(console: Console, *lines: str) -> None:
    for line in lines:
        console.print(printable(line), markup=False, highlight=False)


def _choose(told: str, pool: Sequence[System]) -> System:
    """The one system of a folder or file, or the one of the pool that has `told` in its name."""
    if os.path.exists(told):  # noqa: PTH110 (`Path.exists` raises on a name too long for a file)
        held = read_systems([Path(told)]).systems
        if len(held) > 1:
            raise SpeechIQError(f"{told!r} holds {len(held)} systems ({_names(held)}); name one: {MEND_NAME}")
        return held[0]
    if not pool:
        raise SpeechIQError(f"{told!r} is no folder or file; to look a system up by name, give runs: {MEND_NAME}")
    named = [of for of in pool if of.name == told] or [of for of in pool if told in of.name]
    if len(named) != 1:
        which = f"is part of {len(named)} names" if named else "is in no system's name"
        raise SpeechIQError(f"{told!r} {which}: write enough of one of {_names(named or pool)}")
    return named[0]


def _tell_apart(systems: tuple[System, System], told: tuple[str, str]) -> tuple[System, System]:
    """Two runs of one system get the names of their folders as well."""
    one, other = systems
    if one.name != other.name or one.tasks == other.tasks:
        return one, other
    one, other = (of._replace(name=f"{of.name} ({printable(place)})") for of, place in zip(systems, told, strict=True))
    return one, other


def _names(systems: Sequence[System]) -> str:
    return ", ".join(repr(system.name) for system in systems)
