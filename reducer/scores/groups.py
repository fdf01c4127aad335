"""Score the items of each kind by itself, such as the queries of each kind of noise (`group_by` of the metadata)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.rows import Item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.derived import as_column, share_measure


def split_groups(systems: Sequence[System], field: str) -> list[System]:
    """Return the systems with the kinds of their items instead of categories; an item ends with its category.

    Args:
        systems: Scored on the same items.
        field: One of `group_by`; categories without it do not count.

    Raises:
        SpeechIQError: The categories have different measures, so that the items of a kind have no common mean.
    """
    split = {name: of for name, of in systems[0].levels.items() if field in of.group_by}
    if not share_measure(split.values()):
        columns = ", ".join(f"{name}: {of.column}" for name, of in split.items())
        raise SpeechIQError(
            f"--group-by {field}: the categories are scored by different measures ({columns}), which have no common "
            "mean; choose categories of one measure with --levels"
        )
    first = next(iter(split.values()))
    places = {name: of.group_by.index(field) for name, of in split.items()}
    kinds = sorted({systems[0].kinds[name][item][places[name]] for name in split for item in systems[0].scores[name]})
    levels = {kind: as_column(kind, first) for kind in kinds}
    return [system._replace(scores=_scores(system, places, levels), levels=levels) for system in systems]


def _scores(system: System, places: Mapping[str, int], levels: Mapping[str, Category]) -> dict[str, dict[Item, float]]:
    """Return kind -> item -> score."""
    scores: dict[str, dict[Item, float]] = {kind: {} for kind in levels}
    for name, place in places.items():
        for item, score in system.scores[name].items():
            scores.setdefault(system.kinds[name][item][place], {})[*item, name] = score
    return scores
