"""Refuse systems that were not asked the same, or narrow them to what they share."""

from __future__ import annotations

from collections.abc import Sequence

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.read.conditions import Mismatch, compare_items, compare_systems, summarize
from speechiq.reducer.read.runs import System
from speechiq.reducer.stats.pool import drop_lacking, share


def narrow(systems: Sequence[System], allow_mismatch: bool = False) -> tuple[list[System], list[Mismatch]]:
    """Return the systems with the items that they are scored on: all, or, if they may differ, those that are shared.

    Args:
        systems: As `read_tasks` gives them.
        allow_mismatch: Whether systems may have been asked other clips, questions or task versions.

    Returns:
        (the systems, in what they differ).

    Raises:
        SpeechIQError: Systems differ in what they were asked and that is not allowed, or share nothing on a level.
    """
    systems = drop_lacking(systems)
    mismatches = compare_systems(systems)
    if not allow_mismatch:
        refuse(mismatches)
        return list(systems), []
    return share(systems), mismatches + compare_items(systems)


def refuse(mismatches: Sequence[Mismatch]) -> None:
    """Raise a `SpeechIQError` that names mismatches, if there are any."""
    if mismatches:
        fixes = ", or ".join(dict.fromkeys(of.fix for of in mismatches))
        raise SpeechIQError(f"{summarize(mismatches)}; {fixes}, or add --allow-mismatch to mark the scores")
