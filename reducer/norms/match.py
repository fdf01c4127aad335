"""Whether a system was asked what the norms' pool was asked, and its scores on the norms' scale."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from speechiq.reducer.conditions import CLIPS, Mismatch, by_level
from speechiq.reducer.conditions import compare as compare_conditions
from speechiq.reducer.norms.norms import Norms
from speechiq.reducer.pool import Pool, align, refuse_missing, share
from speechiq.reducer.runs import System
from speechiq.reducer.samples import Item, show_item
from speechiq.reducer.siq import Scale


def compare(norms: Norms, systems: Sequence[System]) -> list[Mismatch]:
    """In what systems differ from the norms' pool: clips, questions, and the conditions of their tasks.

    Raises:
        SpeechIQError: A system lacks a level.
    """
    refuse_missing(systems)
    other = f"norms {norms.name!r}"
    found = []
    for system in systems:
        conditions = by_level(system)
        for level, of in norms.levels.items():
            found += _compare_items(system, level, of.items, other)
            found += compare_conditions(system.name, level, conditions[level], other, of.tasks)
    return found


def put_on(norms: Norms, systems: Sequence[System]) -> tuple[Pool, Scale]:
    """Lines systems up with the norms, on the items that the norms and all of the systems have.

    Raises:
        SpeechIQError: A system lacks a level or has a score that is not finite, or the shared clips tell nothing apart.
    """
    pool = align(share(systems, {level: of.items for level, of in norms.levels.items()}))
    return pool, norms.scale_of(pool.clips)


def _compare_items(system: System, level: str, asked: Collection[Item], other: str) -> list[Mismatch]:
    answered = system.scores[level].keys()
    return [
        Mismatch(
            system.name,
            level,
            CLIPS,
            f"level {level}: {len(items)} of {len(whole)} items of {having} are not in {lacking}, "
            f"such as {show_item(min(items))}",
        )
        for items, whole, having, lacking in (
            (asked - answered, asked, other, f"system {system.name!r}"),
            (answered - asked, answered, f"system {system.name!r}", other),
        )
        if items
    ]
