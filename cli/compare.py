"""Define `siq compare`: whether one system is better than another, and the clips that decide it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from speechiq.cli.options import (
    WIDTH_OF_A_PIPE,
    AllowMismatch,
    AllowMissing,
    Draws,
    Exclude,
    Force,
    Measures,
    NormsFile,
    Weights,
    as_place,
    read_norms,
    read_set,
)
from speechiq.core.console import say
from speechiq.core.files import check_output, write_whole
from speechiq.reducer import suites
from speechiq.reducer.pairs import Held, choose, pair_up
from speechiq.reducer.read.texts import read_texts
from speechiq.reducer.scoring import Compared, Options, Pair
from speechiq.reducer.show import side_by_side
from speechiq.reducer.show.by_suite import join
from speechiq.reducer.show.origin import origin
from speechiq.reducer.show.records import FIX, as_text
from speechiq.reducer.show.table import fits, print_unbroken
from speechiq.reducer.siq.levels import LEVELS
from speechiq.reducer.siq.scale import DEFAULT_RULE, check_rule
from speechiq.reducer.stats.comparison import SIQ
from speechiq.reducer.stats.draws import DRAWS

SCHEMA = "speechiq-comparison"


def compare(
    a: Annotated[
        str, typer.Argument(metavar="A", help="Folder or results file of one system, or a part of its name in RUNS.")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The same of the other system.")],
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders or results files: they hold the named systems and the pool that sets the SIQ scale.",
            parser=as_place,
            metavar="RUNS",
        ),
    ] = None,
    weights: Weights = None,
    norms_file: NormsFile = None,
    allow_mismatch: AllowMismatch = False,
    allow_missing: AllowMissing = False,
    exclude: Exclude = None,
    levels: Annotated[
        str | None,
        typer.Option(help=f"What must agree for a system to be better, of {','.join([*LEVELS, SIQ])}; else all."),
    ] = None,
    measure: Measures = None,
    bootstrap: Draws = DRAWS,
    seed: Annotated[int, typer.Option(min=0, help="Of draws and permutations.")] = 0,
    clips: Annotated[int, typer.Option(min=0, help="Show so many of the clips that drive the difference.")] = 5,
    json: Annotated[Path | None, typer.Option(help="Write the comparison to this JSON file.")] = None,
    force: Force = False,
) -> None:
    """Compare two systems: `siq compare RUN_A RUN_B`, or `siq compare NAME_A NAME_B RUNS`."""
    if json is not None:
        check_output(json, force, FIX)
    check_rule(weights or DEFAULT_RULE)
    norms = read_norms(norms_file, weights)

    options = Options(weights, norms, read_set(exclude), allow_mismatch, draws=bootstrap, seed=seed)

    def find(paths: Sequence[Path]) -> Held:
        found = suites.find(paths, allow_missing, options, measures=measure or ())
        return Held(found, {suite: found.read(suite) for suite in found.levels})

    named = find(runs) if runs else None
    one, other = (choose(given, named, find) for given in (a, b))
    held = [*filter(None, [named]), one.held, other.held]
    for warning in dict.fromkeys(chain.from_iterable(of.found.warnings for of in held)):
        say(f"warning: {warning}")
    for of in held:
        suites.refuse_options_of_siq(of.found, weights=weights, norms=norms_file, exclude=exclude)
    asked = None if levels is None else [name.strip() for name in levels.split(",")]
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE)
    contents: dict[str, dict[str, Any]] = {}
    for pair in pair_up(one, other, named, asked, (a, b)):
        compared = one.held.found.scorings[pair.suite].compare(pair)
        for warning in compared.warnings:
            say(f"warning: {warning}")
        if contents:
            console.print()
        _show(console, pair, compared, clips)
        contents[pair.suite] = compared.content
    if json is not None:
        tasks = [task for of in held for tasks in of.found.tasks.values() for task in tasks]
        text = as_text(join(contents) | origin(SCHEMA, [Path(a), Path(b), *(runs or [])], tasks))
        write_whole(json, text.encode(errors="backslashreplace"), FIX)
        say(f"wrote {json}")


def _show(console: Console, pair: Pair, compared: Compared, clips: int) -> None:
    """Print the table of differences, the verdict, the notes, and the clips that decide."""
    found = compared.found
    _print(console, f"A: {pair.one.name}", f"B: {pair.other.name}")
    wide, narrow = (
        side_by_side.as_table(found, *compared.flags, levels=pair.categories, stacked=of) for of in (False, True)
    )
    console.print(wide if fits(console, wide) else narrow)
    _print(console, side_by_side.verdict(found), *compared.notes)
    if clips:
        _print(console, side_by_side.BRACKETS)
    driving = [share for share in found.clips if share.total][:clips]
    said = [read_texts(tasks, [share.clip for share in driving]) for tasks in compared.texts]
    whole = f"{sum(share.total for share in found.clips):+z.2f} {compared.unit}"
    for share in driving:
        console.print()
        console.print(side_by_side.clip_table(share, whole, *(of[share.clip] for of in said)))


def _print(console: Console, *lines: str) -> None:
    for line in lines:
        print_unbroken(console, line)
