"""Define `siq compare`: whether one system is better than another, and the clips that decide it."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

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
    read_levels,
    read_norms,
    read_set,
)
from speechiq.core.console import printable, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import check_output, exists, write_whole
from speechiq.core.frozen import shorten
from speechiq.reducer.read.conditions import Mismatch, summarise
from speechiq.reducer.read.measure import Category
from speechiq.reducer.read.runs import Runs, System
from speechiq.reducer.read.texts import read_said
from speechiq.reducer.show import side_by_side
from speechiq.reducer.show.origin import origin
from speechiq.reducer.show.records import MEND, as_text
from speechiq.reducer.show.remarks import Remarks, remark
from speechiq.reducer.show.table import fits, print_unbroken
from speechiq.reducer.siq import unanswerable
from speechiq.reducer.siq.levels import LEVELS
from speechiq.reducer.siq.ranking import narrow
from speechiq.reducer.siq.scale import DEFAULT_RULE, check_rule
from speechiq.reducer.siq.systems import read_systems
from speechiq.reducer.siq.unanswerable import ConfirmedSet
from speechiq.reducer.stats import comparison as comparing
from speechiq.reducer.stats.bootstrap import DRAWS
from speechiq.reducer.stats.comparison import Comparison
from speechiq.reducer.stats.pool import align

ADVICE_NAME = "siq compare NAME_A NAME_B RUNS"
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
        typer.Option(
            help=f"What must agree for a system to be better, of {','.join([*LEVELS, comparing.SIQ])}; else all."
        ),
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
        check_output(json, force, MEND)
    rule = weights or DEFAULT_RULE
    check_rule(rule)
    norms = read_norms(norms_file, weights)
    excluded = read_set(exclude)
    measured = read_levels(measure, None, norms)
    named = read_systems(runs, allow_missing, levels=measured) if runs else Runs([], [])
    chosen = [_choose(given, named.systems, measured, allow_missing) for given in (a, b)]
    for warning in dict.fromkeys(chain.from_iterable(of.warnings for of in (named, *chosen))):
        say(f"warning: {warning}")
    one, other = _tell_apart([of.systems[0] for of in chosen], (a, b))
    others = [] if norms else [of for of in named.systems if of.tasks not in (one.tasks, other.tasks)]
    names = {of.name: of for of in (*others, one, other)}
    if weights and not norms and len(names) < 3:
        raise SpeechIQError(f"--weights {weights} weighs nothing here: {comparing.NO_SCALE}")
    asked = None if levels is None else [name.strip() for name in levels.split(",")]
    pooled = _restrict(unanswerable.leave_out(names.values(), excluded), asked)
    systems, mismatches = narrow(pooled, norms, allow_mismatch)
    pool = align(systems)
    remarks = remark(pool, sorted(systems, key=lambda system: system.name), norms)
    for warning in remarks.warnings():
        say(f"warning: {warning}")
    scale = norms and norms.scale_of(pool.clips)
    found = comparing.compare(
        pool, one.name, other.name, scale=scale, rule=rule, asked=asked, draws=bootstrap, seed=seed
    )

    scale_name = norms.title if norms else f"the pool of {len(systems)} systems, {rule}" if found.siq else None
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE)
    flags = [of.flags for name in (one.name, other.name) for of in systems if of.name == name]
    _print(console, f"A: {one.name}", f"B: {other.name}")
    wide, narrow_one = (side_by_side.as_table(found, *flags, levels=measured, stacked=of) for of in (False, True))
    console.print(wide if fits(console, wide) else narrow_one)
    _print(console, side_by_side.verdict(found), *_notes(found, scale_name, mismatches, excluded, remarks))
    if clips:
        _print(console, side_by_side.BRACKETS)
    _print_clips(console, found, one, other, clips)
    if json is not None:
        content = comparing.as_json(found) | {
            "scale": scale_name,
            "mismatches": [of.text for of in mismatches],
            "excluded": len(excluded),
            "excluded_set": excluded.sha256,
            "flags": {side: of._asdict() for side, of in zip("ab", flags, strict=True)},
        }
        content |= {"measures": {level: measured[level].column for level in found.raw}}
        content |= {"identical": [list(names) for names in remarks.identical]}
        text = as_text(content | origin(SCHEMA, [Path(a), Path(b), *(runs or [])]))
        write_whole(json, text.encode(errors="backslashreplace"), MEND)
        say(f"wrote {json}")


def _notes(
    found: Comparison,
    scale_name: str | None,
    mismatches: Sequence[Mismatch],
    excluded: ConfirmedSet,
    remarks: Remarks,
) -> Iterator[str]:
    yield found.no_siq or f"SIQ on the scale of {scale_name}"
    if found.siq and remarks.few:
        yield remarks.few
    yield from remarks.counted()
    if found.draws:
        yield f"{found.draws} draws of {len(found.clips)} clips, seed {found.seed}"
        yield from filter(None, [found.caution])
    if found.left_out:
        yield f"{found.left_out} draws left out, which hold no clip that tells systems apart"
    if excluded:
        yield f"left out of Apply: {len(excluded)} questions of the unanswerable set {shorten(excluded.sha256)}"
    if mismatches:
        yield f"not on equal terms: {summarise(mismatches)}"
    yield side_by_side.RULE
    yield side_by_side.MEANINGS


def _restrict(systems: Sequence[System], asked: Collection[str] | None) -> list[System]:
    """Return the systems without the levels that some of them lack, unless these levels or the SIQ are asked for."""
    if asked is None or comparing.SIQ in asked:
        return list(systems)
    levels = [level for level in LEVELS if level in asked or all(level in system.scores for system in systems)]
    return [system.restrict(levels) for system in systems]


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
        print_unbroken(console, line)


def _choose(given: str, pool: Sequence[System], levels: Mapping[str, Category], allow_missing: bool) -> Runs:
    """Return the one system of a folder or file, or the one of the pool that has `given` in its name."""
    if exists(given):
        held = read_systems([Path(given)], allow_missing, levels=levels)
        if len(held.systems) > 1:
            names = _names(held.systems)
            raise SpeechIQError(f"{given!r} holds {len(held.systems)} systems ({names}); name one: {ADVICE_NAME}")
        return held
    if not pool:
        raise SpeechIQError(f"{given!r} is not a folder or file; to find a system by name, give runs: {ADVICE_NAME}")
    named = [of for of in pool if of.name == given] or [of for of in pool if given in of.name]
    if len(named) != 1:
        which = f"is part of {len(named)} names" if named else "is in no system's name"
        raise SpeechIQError(f"{given!r} {which}: write enough of one of {_names(named or pool)}")
    return Runs(named, [])


def _tell_apart(systems: Sequence[System], places: tuple[str, str]) -> tuple[System, System]:
    """Add folder names to the names of two runs of one system; refuse the same run twice."""
    one, other = systems
    if _files(one) == _files(other):
        raise SpeechIQError(f"A and B are one run of system {one.name!r}: give two systems, or two runs of one")
    if one.name != other.name:
        return one, other
    named = zip(systems, places, strict=True)
    one, other = (of._replace(name=f"{of.name} ({printable(place)})") for of, place in named)
    return one, other


def _files(system: System) -> set[tuple[str, str]]:
    return {(os.path.realpath(task.results), task.task) for task in system.tasks}


def _names(systems: Sequence[System]) -> str:
    return ", ".join(repr(system.name) for system in systems)
