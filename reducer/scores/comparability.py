"""Refuse systems that differ in clips, questions or tasks, or narrow them to the items that they share."""

from __future__ import annotations

from collections.abc import Sequence

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.conditions import Mismatch, compare_items, compare_systems, summarize
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.score_matrix import drop_empty_levels, share


def intersect(systems: Sequence[System], allow_mismatch: bool = False) -> tuple[list[System], list[Mismatch]]:
    """Return the systems with the items to score: all, or, if systems may differ, those that all share.

    Args:
        systems: As `read_tasks` returns them.
        allow_mismatch: Whether systems may have been run on different clips, questions or task versions.

    Returns:
        (the systems, their mismatches).

    Raises:
        SpeechIQError: Systems differ in clips, questions or tasks and that is not allowed, or share no item on a level.
    """
    systems = drop_empty_levels(systems)
    mismatches = compare_systems(systems)
    if not allow_mismatch:
        require_equal(mismatches)
        return list(systems), []
    return share(systems), mismatches + compare_items(systems)


def require_equal(mismatches: Sequence[Mismatch]) -> None:
    """Raise a `SpeechIQError` that names mismatches, if there are any."""
    if mismatches:
        fixes = ", or ".join(dict.fromkeys(mismatch.fix for mismatch in mismatches))
        raise SpeechIQError(f"{summarize(mismatches)}; {fixes}, or add --allow-mismatch to mark the scores")
