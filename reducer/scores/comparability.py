"""Refuse systems that differ in clips, questions or tasks, or narrow them to the items that they share."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.conditions import Mismatch, compare_items, compare_systems, summarize
from speechiq.reducer.runs.rows import Item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores import norms as siq_norms
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.score_matrix import common_items, levels_of, refuse_missing


def intersect(
    systems: Sequence[System], allow_mismatch: bool = False, norms: Norms | None = None
) -> tuple[list[System], list[Mismatch]]:
    """Return the systems with the items to score, and how they differ from each other or from the norms.

    If they may differ, they are scored on the items that all share (with the norms), else on all.
    """
    systems = drop_empty_levels(systems)
    mismatches = siq_norms.compare(norms, systems) if norms else compare_systems(systems)
    if not allow_mismatch:
        if mismatches:
            require_equal(mismatches, shared=_find_shared(systems, *([norms.items] if norms else [])))
        return list(systems), []
    if norms:
        return share(systems, norms.items), mismatches
    return share(systems), mismatches + compare_items(systems)


def require_equal(mismatches: Sequence[Mismatch], shared: Mapping[str, Collection[Item]] | None = None) -> None:
    """Raise a `SpeechIQError` that names mismatches, if there are any.

    `shared` is what could be scored all the same, level -> items; a level without any leaves one fix less.
    """
    if mismatches:
        fixes = ", or ".join(dict.fromkeys(mismatch.fix for mismatch in mismatches))
        marked = ", or add --allow-mismatch to mark the scores" if shared is None or all(shared.values()) else ""
        raise SpeechIQError(summarize(mismatches), fix=f"{fixes}{marked}")


def share(systems: Iterable[System], *others: Mapping[str, Collection[Item]]) -> list[System]:
    """Return the systems with only the items that all of them, and `others` (level -> items), have."""
    systems = list(systems)
    shared = _find_shared(systems, *others)
    if empty := [level for level, items in shared.items() if not items]:
        raise SpeechIQError(f"level {empty[0]}", "the systems share no clip", "run the same tasks")
    return [_keep(system, shared) for system in systems]


def _find_shared(systems: Sequence[System], *others: Mapping[str, Collection[Item]]) -> dict[str, set[Item]]:
    """Return level -> the items that all systems, and `others`, have."""
    refuse_missing(systems)
    sides = (*others, *(system.scores for system in systems))
    return {level: set.intersection(*(set(items[level]) for items in sides)) for level in levels_of(systems)}


def complete(systems: Sequence[System]) -> list[System]:
    """Return the systems with only the items that have a score in all of them (`measure.undefined: counted`)."""
    kept = {}
    for level, category in levels_of(systems).items():
        items = common_items(level, systems)
        kept[level] = [item for item in items if not any(math.isnan(system.scores[level][item]) for system in systems)]
        if not kept[level]:
            word = category.undefined_word
            counts = ", ".join(f"{system.name!r} {system.count_undefined(level)} of {len(items)}" for system in systems)
            raise SpeechIQError(
                f"level {level}",
                f"no item has a score in all systems ({word}: {counts})",
                "rerun the system without scores, or name the other levels with --levels",
            )
    return [_keep(system, kept) for system in systems]


def _keep(system: System, kept: Mapping[str, Iterable[Item]]) -> System:
    return system.narrow({level: {item: system.scores[level][item] for item in items} for level, items in kept.items()})


def drop_empty_levels(systems: Sequence[System]) -> list[System]:
    """Return the systems without levels at which none has scores; refuse levels at which only some have."""
    levels = [level for level in levels_of(systems) if any(level in system.scores for system in systems)]
    shared = [level for level in levels if all(level in system.scores for system in systems)]
    kept = [system.restrict(levels) for system in systems]
    refuse_missing(kept, f", or score only what all systems have: --levels {','.join(shared)}" if shared else "")
    return kept
