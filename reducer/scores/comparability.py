"""Refuse systems that differ from each other or from norms in clips, questions or tasks, or score what they share."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import shorten
from speechiq.reducer.runs.conditions import (
    CLIPS,
    Mismatch,
    by_level,
    compare_conditions,
    compare_items,
    compare_systems,
    summarize,
)
from speechiq.reducer.runs.samples import show_item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.table import Item
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.score_matrix import ScoreMatrix, align, common_items, levels_of, refuse_missing

#: What studies give to `require_equal` whose runs are not compared if they differ, whatever the user allows.
NOTHING_SHARED: Mapping[str, Collection[Item]] = MappingProxyType({"": ()})


def intersect(
    systems: Sequence[System], allow_mismatch: bool = False, norms: Norms | None = None
) -> tuple[list[System], list[Mismatch]]:
    """Return the systems with the items to score, and how they differ from each other or from the norms.

    If they may differ, they are scored on the items that all share (with the norms), else on all.
    """
    systems = drop_empty_levels(systems)
    mismatches = compare_with_norms(norms, systems) if norms else compare_systems(systems)
    if not allow_mismatch:
        if mismatches:
            require_equal(mismatches, shared=_find_shared(systems, *([norms.items] if norms else [])))
        return list(systems), []
    if norms:
        return narrow_to_shared(systems, norms.items), mismatches
    return narrow_to_shared(systems), mismatches + compare_items(systems)


def require_equal(mismatches: Sequence[Mismatch], shared: Mapping[str, Collection[Item]] | None = None) -> None:
    """Raise a `SpeechIQError` that names mismatches, if there are any.

    `shared` is what could be scored all the same, level -> items; a level without any leaves one fix less.
    """
    if mismatches:
        fixes = ", or ".join(dict.fromkeys(mismatch.fix for mismatch in mismatches))
        marked = ", or add --allow-mismatch to mark the scores" if shared is None or all(shared.values()) else ""
        raise SpeechIQError(summarize(mismatches), fix=f"{fixes}{marked}")


def narrow_to_shared(systems: Iterable[System], *others: Mapping[str, Collection[Item]]) -> list[System]:
    """Return the systems with only the items that all of them, and `others` (level -> items), have."""
    systems = list(systems)
    shared = _find_shared(systems, *others)
    if empty := [level for level, items in shared.items() if not items]:
        raise SpeechIQError(f"level {empty[0]}", "the systems share no clip", "run the same tasks")
    return [system.keep(shared) for system in systems]


def _find_shared(systems: Sequence[System], *others: Mapping[str, Collection[Item]]) -> dict[str, set[Item]]:
    """Return level -> the items that all systems, and `others`, have."""
    refuse_missing(systems)
    sides = [*others, *(system.items for system in systems)]
    shared = {}
    for level in levels_of(systems):
        shared[level] = set.intersection(*(set(items[level]) for items in sides))
    return shared


def complete(systems: Sequence[System]) -> list[System]:
    """Return the systems with only the items that have a score in all of them (`measure.undefined: counted`)."""
    kept = {}
    for level, category in levels_of(systems).items():
        items = common_items(level, systems)
        unscored: set[Item] = set()
        for system in systems:
            rows = system.by_level[level]
            unscored.update(rows["item"][np.isnan(rows["score"])])
        kept[level] = [item for item in items if item not in unscored]
        if not kept[level]:
            word = category.undefined_word
            counts = ", ".join(f"{system.name!r} {system.count_undefined(level)} of {len(items)}" for system in systems)
            raise SpeechIQError(
                f"level {level}",
                f"no item has a score in all systems ({word}: {counts})",
                "rerun the system without scores, or name the other levels with --levels",
            )
    return [system.keep(kept) for system in systems]


def restrict_runs(runs: Mapping[str, System], level: str) -> dict[str, System]:
    """Return those of some runs that have scores of a category, with this one alone."""
    return {name: system.restrict([level]) for name, system in runs.items() if level in system.by_level}


def align_runs(runs: Mapping[str, System]) -> tuple[list[System], ScoreMatrix]:
    """Return runs by new names with the items that have a score in all of them, and these scores."""
    kept = complete(narrow_to_shared([system.replace(name=name) for name, system in runs.items()]))
    return kept, align(kept)


def drop_empty_levels(systems: Sequence[System]) -> list[System]:
    """Return the systems without levels at which none has scores; refuse levels at which only some have."""
    answered = [system.by_level.keys() for system in systems]
    some = set().union(*answered)
    every = some.intersection(*answered)
    levels = [level for level in levels_of(systems) if level in some]
    shared = [level for level in levels if level in every]
    kept = [system.restrict(levels) for system in systems]
    refuse_missing(kept, f", or score only what all systems have: --levels {','.join(shared)}" if shared else "")
    return kept


def compare_with_norms(norms: Norms, systems: Sequence[System]) -> list[Mismatch]:
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
            found += _compare_norm_items(system, level, level_norms.items, other)
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
    answered = {system.name: system.items[level].intersection(expected) for system in systems}
    shared = frozenset.intersection(*answered.values())
    for name, items in answered.items():
        if lost := items - shared:
            without = next(system for system, items in answered.items() if lost - items)
            text = (
                f"{len(lost)} of {len(expected)} items of {other} do not count for system {name!r}: "
                f"{without!r} misses them"
            )
            yield Mismatch(name, level, CLIPS, f"level {level}: {text}, such as {show_item(min(lost))}")


def _compare_norm_items(system: System, level: str, expected: Collection[Item], other: str) -> list[Mismatch]:
    answered, wanted = system.items[level], frozenset(expected)
    return [
        Mismatch(
            system.name,
            level,
            CLIPS,
            f"level {level}: {len(items)} of {len(total)} items of {present} are not in {absent}, "
            f"such as {show_item(min(items))}",
        )
        for items, total, present, absent in (
            (wanted - answered, wanted, other, f"system {system.name!r}"),
            (answered - wanted, answered, f"system {system.name!r}", other),
        )
        if items
    ]
