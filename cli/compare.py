"""Define `siq compare`: whether one system is better than another, and the clips that decide it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

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
from speechiq.core.console import printable, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import check_output, exists, write_whole
from speechiq.core.frozen import shorten
from speechiq.reducer import suites
from speechiq.reducer.read.conditions import Mismatch, summarise
from speechiq.reducer.read.flags import Flags
from speechiq.reducer.read.measure import Category
from speechiq.reducer.read.results_file import TaskRun
from speechiq.reducer.read.runs import System
from speechiq.reducer.read.texts import read_said
from speechiq.reducer.show import side_by_side
from speechiq.reducer.show.origin import origin
from speechiq.reducer.show.records import MEND, as_text
from speechiq.reducer.show.remarks import Remarks, observe, remark
from speechiq.reducer.show.table import fits, print_unbroken
from speechiq.reducer.siq import unanswerable
from speechiq.reducer.siq.levels import LEVELS
from speechiq.reducer.siq.levels import SUITE as SIQ
from speechiq.reducer.siq.norms import Norms
from speechiq.reducer.siq.ranking import narrow
from speechiq.reducer.siq.scale import DEFAULT_RULE, check_rule
from speechiq.reducer.siq.unanswerable import ConfirmedSet
from speechiq.reducer.stats import comparison as comparing
from speechiq.reducer.stats import equal_terms
from speechiq.reducer.stats.bootstrap import DRAWS
from speechiq.reducer.stats.comparison import Comparison
from speechiq.reducer.stats.coverage import caution_of_raw
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

    def find(paths: Sequence[Path]) -> _Held:
        held = suites.find(paths, allow_missing, measures=measure or (), norms=norms)
        return _Held(held, {suite: held.read(suite) for suite in held.levels})

    named = find(runs) if runs else None
    chosen = [_choose(given, named, find) for given in (a, b)]
    held = list(filter(None, [named, *(held for held, _ in chosen)]))
    for warning in dict.fromkeys(chain.from_iterable(of.found.warnings for of in held)):
        say(f"warning: {warning}")
    for of in held:
        suites.refuse_options_of_siq(of.found, weights=weights, norms=norms_file, exclude=exclude)
    asked = None if levels is None else [name.strip() for name in levels.split(",")]
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE)
    contents: dict[str, dict[str, Any]] = {}
    for suite, measured in _shared(chosen, asked).items():
        one, other = _tell_apart([by_suite[suite] for _, by_suite in chosen], (a, b))
        pool = named.systems.get(suite, []) if named else []
        others = [of for of in pool if of.tasks not in (one.tasks, other.tasks)]
        pair = _Pair(one, other, measured, asked, allow_mismatch, bootstrap, seed)
        if contents:
            console.print()
        if suite == SIQ:
            result = _compare_levels(pair, [] if norms else others, norms, weights, rule, excluded)
        else:
            result = _compare_categories(pair, suite)
        _show(console, pair, result, clips)
        contents[suite] = result.content
    if json is not None:
        others_than_siq = {suite: of for suite, of in contents.items() if suite != SIQ}
        content = {**contents.get(SIQ, {}), **({"suites": others_than_siq} if others_than_siq else {})}
        text = as_text(content | origin(SCHEMA, [Path(a), Path(b), *(runs or [])]))
        write_whole(json, text.encode(errors="backslashreplace"), MEND)
        say(f"wrote {json}")


class _Held(NamedTuple):
    """What some runs hold, and the systems of each suite."""

    found: suites.Found
    systems: dict[str, list[System]]


class _Pair(NamedTuple):
    """Two systems of one suite, and how they are compared."""

    one: System
    other: System
    measured: Mapping[str, Category]
    asked: list[str] | None
    allow_mismatch: bool
    draws: int
    seed: int


class _Result(NamedTuple):
    """A comparison, how often both systems failed, what is printed below, and the content of the JSON file."""

    found: Comparison
    flags: list[Flags]
    notes: list[str]
    content: dict[str, Any]


def _compare_levels(
    pair: _Pair,
    others: Sequence[System],
    norms: Norms | None,
    weights: str | None,
    rule: str,
    excluded: ConfirmedSet,
) -> _Result:
    """Compare by SIQ and its levels, on the scale of norms or of the pool."""
    one, other = pair.one, pair.other
    names = {of.name: of for of in (*others, one, other)}
    if weights and not norms and len(names) < 3:
        raise SpeechIQError(f"--weights {weights} weighs nothing here: {comparing.NO_SCALE}")
    pooled = _restrict(unanswerable.leave_out(names.values(), excluded), pair.asked)
    systems, mismatches = narrow(pooled, norms, pair.allow_mismatch)
    pool = align(systems)
    remarks = remark(pool, sorted(systems, key=lambda system: system.name), norms)
    for warning in remarks.warnings():
        say(f"warning: {warning}")
    found = comparing.compare(
        pool,
        one.name,
        other.name,
        scale=norms.scale_of(pool.clips) if norms else None,
        rule=rule,
        asked=pair.asked,
        draws=pair.draws,
        seed=pair.seed,
    )
    scale_name = norms.title if norms else f"the pool of {len(systems)} systems, {rule}" if found.siq else None
    flags = _flags(pair, systems)
    content = comparing.as_json(found) | {
        "scale": scale_name,
        "mismatches": [of.text for of in mismatches],
        "excluded": len(excluded),
        "excluded_set": excluded.sha256,
        "flags": {side: of._asdict() for side, of in zip("ab", flags, strict=True)},
        "measures": {level: pair.measured[level].column for level in found.raw},
        "identical": [list(names) for names in remarks.identical],
    }
    return _Result(found, flags, list(_notes(found, scale_name, mismatches, excluded, remarks)), content)


def _compare_categories(pair: _Pair, suite: str) -> _Result:
    """Compare by the categories of a suite without a scale, each by itself."""
    asked = pair.asked and [name for name in pair.asked if name in pair.measured]
    both = [pair.one, pair.other]
    if asked is not None:
        both = [of.restrict(asked) for of in both]
    systems, mismatches = equal_terms.narrow(both, pair.allow_mismatch)
    pool = align(systems)
    remarks = observe(pool, sorted(systems, key=lambda system: system.name))
    why = f"suite {suite}: each category is compared by itself"
    found = comparing.compare(
        pool, pair.one.name, pair.other.name, asked=asked, draws=pair.draws, seed=pair.seed, raw_only=why
    )
    caution = caution_of_raw(min(map(len, pool.clips.values()))) if pair.draws else None
    notes = [why, *remarks.counted()]
    if found.draws:
        notes += [f"{found.draws} draws of {len(found.clips)} clips, seed {found.seed}", *filter(None, [caution])]
    if mismatches:
        notes.append(f"not on equal terms: {summarise(mismatches)}")
    flags = _flags(pair, systems)
    kept = ("a", "b", "draws", "left_out", "seed", "raw", "asked", "clips", "better")
    plain = comparing.as_json(found)
    content = {key: plain[key] for key in kept} | {
        "caution": caution,
        "mismatches": [of.text for of in mismatches],
        "flags": {side: of._asdict() for side, of in zip("ab", flags, strict=True)},
        "measures": {category: pair.measured[category].column for category in found.raw},
    }
    return _Result(found, flags, [*notes, side_by_side.RULE, side_by_side.MEANINGS], content)


def _flags(pair: _Pair, systems: Sequence[System]) -> list[Flags]:
    return [of.flags for name in (pair.one.name, pair.other.name) for of in systems if of.name == name]


def _show(console: Console, pair: _Pair, result: _Result, clips: int) -> None:
    """Print the table of differences, the verdict, the notes, and the clips that decide."""
    found = result.found
    _print(console, f"A: {pair.one.name}", f"B: {pair.other.name}")
    wide, narrow_one = (
        side_by_side.as_table(found, *result.flags, levels=pair.measured, stacked=of) for of in (False, True)
    )
    console.print(wide if fits(console, wide) else narrow_one)
    _print(console, side_by_side.verdict(found), *result.notes)
    if clips:
        _print(console, side_by_side.BRACKETS)
    _print_clips(console, found, pair.one, pair.other, clips)


def _shared(
    chosen: Sequence[tuple[_Held, Mapping[str, System]]], asked: Collection[str] | None
) -> dict[str, dict[str, Category]]:
    """Return the suites that both systems ran, with their categories; of several, those that are asked for.

    Raises:
        SpeechIQError: No suite is shared.
    """
    (one, of_a), (_, of_b) = chosen
    shared = {suite: one.found.levels[suite] for suite in of_a if suite in of_b}
    if not shared:
        raise SpeechIQError(f"A ran suite {', '.join(of_a)} and B ran {', '.join(of_b)}: give runs of the same suite")
    wanted = {
        suite: levels
        for suite, levels in shared.items()
        if asked is None or {*levels, *[comparing.SIQ] * (suite == SIQ)}.intersection(asked)
    }
    return wanted or shared


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
        yield f"left out of Apply: {len(excluded)} questions of the unanswerable set {shorten(excluded.sha256 or '')}"
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
    said = [read_said(_texts(of), [share.clip for share in driving]) for of in (one, other)]
    total = sum(share.total for share in found.clips)
    whole = f"{total:+z.2f} {'SIQ' if found.siq else 'points in the mean of the raw scores'}"
    for share in driving:
        console.print()
        console.print(side_by_side.clip_table(share, whole, *(of[share.clip] for of in said)))


def _texts(system: System) -> list[TaskRun]:
    """Return the tasks whose rows hold texts; those of Understand repeat the texts of Remember."""
    return [task for task in system.tasks if (task.suite, task.level) != (SIQ, "understand")]


def _print(console: Console, *lines: str) -> None:
    for line in lines:
        print_unbroken(console, line)


def _choose(
    given: str, named: _Held | None, find: Callable[[Sequence[Path]], _Held]
) -> tuple[_Held, dict[str, System]]:
    """Return the one system of a folder or file, or the one of the runs that has `given` in its name, by suite."""
    if exists(given):
        held = find([Path(given)])
        if len(names := _all_names(held)) > 1:
            shown = ", ".join(map(repr, names))
            raise SpeechIQError(f"{given!r} holds {len(names)} systems ({shown}); name one: {ADVICE_NAME}")
        return held, _by_suite(held, names[0])
    if named is None:
        raise SpeechIQError(f"{given!r} is not a folder or file; to find a system by name, give runs: {ADVICE_NAME}")
    there = _all_names(named)
    fitting = [name for name in there if name == given] or [name for name in there if given in name]
    if len(fitting) != 1:
        which = f"is part of {len(fitting)} names" if fitting else "is in no system's name"
        raise SpeechIQError(f"{given!r} {which}: write enough of one of {', '.join(map(repr, fitting or there))}")
    return named, _by_suite(named, fitting[0])


def _all_names(held: _Held) -> list[str]:
    return sorted({system.name for systems in held.systems.values() for system in systems})


def _by_suite(held: _Held, name: str) -> dict[str, System]:
    return {suite: of for suite, systems in held.systems.items() for of in systems if of.name == name}


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
