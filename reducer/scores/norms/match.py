"""Check that systems ran the same tasks and items as the pool of the norms."""

from collections.abc import Collection, Iterator, Sequence

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import shorten
from speechiq.reducer.runs.conditions import CLIPS, Mismatch, by_level
from speechiq.reducer.runs.conditions import compare as compare_conditions
from speechiq.reducer.runs.rows import Item, show_item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.norms.norms import Norms
from speechiq.reducer.scores.score_matrix import levels_of, refuse_missing


def compare(norms: Norms, systems: Sequence[System]) -> list[Mismatch]:
    """Return how systems differ from the norms' pool: in clips, questions and the conditions of their tasks.

    Systems are scored on the items that all of them share with the norms. A system that loses items because another
    system misses them has a mismatch as well.
    """
    refuse_missing(systems)
    _refuse_other_measures(norms, systems)
    other = f"norms {norms.label!r}"
    found = []
    for system in systems:
        conditions = by_level(system)
        if system.excluded != norms.excluded and "apply" in system.levels:
            found.append(_compare_excluded(system, norms, other))
        for level in system.levels:
            level_norms = norms.levels[level]
            found += _compare_items(system, level, level_norms.items, other)
            found += compare_conditions(system.name, level, conditions[level], other, level_norms.tasks)
    for level in levels_of(systems):
        found += _compare_lost(systems, level, norms.levels[level].items, other)
    return found


def _refuse_other_measures(norms: Norms, systems: Sequence[System]) -> None:
    for level, category in levels_of(systems).items():
        if category.column != (theirs := norms.levels[level].metric):
            raise SpeechIQError(
                f"norms {norms.label!r} score {level} by {theirs!r} and these runs are scored by {category.column!r}",
                f"give --metrics {level}={theirs}, or build norms with --metrics {level}={category.column}",
            )


def _compare_excluded(system: System, norms: Norms, other: str) -> Mismatch:
    ours, theirs = (f"set {shorten(sha256)}" if sha256 else "no set" for sha256 in (system.excluded, norms.excluded))
    text = f"level apply: --exclude left out {ours} of system {system.name!r} and {theirs} of {other}"
    here = f"give --exclude with {theirs}" if norms.excluded else "leave --exclude out"
    there = f"with --exclude {ours}" if system.excluded else "without --exclude"
    return Mismatch(system.name, "apply", CLIPS, text, f"{here}, or build the norms {there}")


def _compare_lost(systems: Sequence[System], level: str, expected: Collection[Item], other: str) -> Iterator[Mismatch]:
    """Yield the items of the norms that a system has and is not scored on, since another system misses them."""
    answered = {system.name: expected & system.scores[level].keys() for system in systems}
    shared = set.intersection(*answered.values())
    for name, items in answered.items():
        if lost := items - shared:
            without = next(system for system, items in answered.items() if lost - items)
            text = (
                f"{len(lost)} of {len(expected)} items of {other} do not count for system {name!r}: "
                f"{without!r} misses them"
            )
            yield Mismatch(name, level, CLIPS, f"level {level}: {text}, such as {show_item(min(lost))}")


def _compare_items(system: System, level: str, expected: Collection[Item], other: str) -> list[Mismatch]:
    answered = system.scores[level].keys()
    return [
        Mismatch(
            system.name,
            level,
            CLIPS,
            f"level {level}: {len(items)} of {len(total)} items of {present} are not in {absent}, "
            f"such as {show_item(min(items))}",
        )
        for items, total, present, absent in (
            (expected - answered, expected, other, f"system {system.name!r}"),
            (answered - expected, answered, f"system {system.name!r}", other),
        )
        if items
    ]
