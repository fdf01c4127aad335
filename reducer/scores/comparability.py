"""Refuse systems that differ in clips, questions or tasks, or narrow them to the items that they share."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from speechiq.core.errors import SpeechIQError
from speechiq.engines.languages import ENGLISH, read_language
from speechiq.reducer.runs.conditions import Mismatch, compare_items, compare_systems, summarize
from speechiq.reducer.runs.rows import Item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores import norms as siq_norms
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.score_matrix import common_items, levels_of, refuse_missing

#: Settings of categories whose scores are similarities of a language model's states.
MODELS = {"embedder", "assistant"}


def intersect(
    systems: Sequence[System], allow_mismatch: bool = False, norms: Norms | None = None
) -> tuple[list[System], list[Mismatch]]:
    """Return the systems with the items to score, and how they differ from each other or from the norms.

    If they may differ, they are scored on the items that all share (with the norms), else on all.

    Raises:
        SpeechIQError: Systems differ in clips, questions or tasks and that is not allowed, share no item on a level, or
            have similarities in several languages.
    """
    systems = drop_empty_levels(systems)
    refuse_languages(systems)
    mismatches = siq_norms.compare(norms, systems) if norms else compare_systems(systems)
    if not allow_mismatch:
        require_equal(mismatches)
        return list(systems), []
    if norms:
        return share(systems, norms.items), mismatches
    return share(systems), mismatches + compare_items(systems)


def require_equal(mismatches: Sequence[Mismatch]) -> None:
    """Raise a `SpeechIQError` that names mismatches, if there are any."""
    if mismatches:
        fixes = ", or ".join(dict.fromkeys(mismatch.fix for mismatch in mismatches))
        raise SpeechIQError(summarize(mismatches), fix=f"{fixes}, or add --allow-mismatch to mark the scores")


def refuse_languages(systems: Sequence[System]) -> None:
    """Raise a `SpeechIQError` if similarities in several languages would be averaged, of which each has its own floor.

    A task without a language is in English.
    """
    for level, category in levels_of(systems).items():
        tasks = [task for system in systems for task in system.tasks if task.level == level]
        languages = sorted({read_language(task.metadata) or ENGLISH for task in tasks})
        if len(languages) > 1 and MODELS.intersection(category.settings):
            raise SpeechIQError(
                f"level {level}",
                f"similarities in {', '.join(languages)} have no common scale, so they are not averaged",
                "score each language by itself (--by-language), or other levels (--levels)",
            )


def share(systems: Iterable[System], *others: Mapping[str, Collection[Item]]) -> list[System]:
    """Return the systems with only the items that all of them, and `others` (level -> items), have.

    Raises:
        SpeechIQError: A system misses a level, or no item of a level is shared.
    """
    systems = list(systems)
    refuse_missing(systems)
    shared = {}
    for level in levels_of(systems):
        sides = (*others, *(system.scores for system in systems))
        shared[level] = set.intersection(*(set(items[level]) for items in sides))
        if not shared[level]:
            raise SpeechIQError(f"level {level}", "the systems share no clip", "run the same tasks")
    return [
        system.narrow({level: {item: system.scores[level][item] for item in items} for level, items in shared.items()})
        for system in systems
    ]


def complete(systems: Sequence[System]) -> list[System]:
    """Return the systems with only the items that have a score in all of them (`measure.undefined: counted`).

    Raises:
        SpeechIQError: The systems have different items, or no item of a level has a score in all of them.
    """
    kept = {}
    for level, category in levels_of(systems).items():
        items = common_items(level, systems)
        kept[level] = [item for item in items if not any(math.isnan(of.scores[level][item]) for of in systems)]
        if not kept[level]:
            word = category.undefined_word
            counts = ", ".join(f"{of.name!r} {of.count_undefined(level)} of {len(items)}" for of in systems)
            raise SpeechIQError(
                f"level {level}",
                f"no item has a score in all systems ({word}: {counts})",
                "rerun the system without scores, or name the other levels with --levels",
            )
    return [
        of.narrow({level: {item: of.scores[level][item] for item in items} for level, items in kept.items()})
        for of in systems
    ]


def drop_empty_levels(systems: Sequence[System]) -> list[System]:
    """Return the systems without the levels at which no system has scores.

    Raises:
        SpeechIQError: Some systems have scores at a level and others do not.
    """
    levels = [level for level in levels_of(systems) if any(level in system.scores for system in systems)]
    shared = [level for level in levels if all(level in system.scores for system in systems)]
    kept = [system.restrict(levels) for system in systems]
    refuse_missing(kept, f", or score only what all systems have: --levels {','.join(shared)}" if shared else "")
    return kept
