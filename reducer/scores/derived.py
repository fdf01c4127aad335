"""Derive columns of a suite from the items of its categories: aggregates, extra columns, and groups of items."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.measure import Category, Measure
from speechiq.reducer.runs.samples import Item, show_item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.score_matrix import ScoreMatrix, align

#: Categories, systems with groups in their place, and number of items without a group (`split_groups`).
MeasuredGroups = tuple[tuple[str, ...], tuple[System, ...], int]


class DerivedColumns(NamedTuple):
    """Hold the further columns of a suite: aggregates, from few categories to many, then extra columns.

    Attributes:
        systems: The systems, scored on these columns instead of on categories; an item ends with its category.
        members: Column -> the categories whose items it has.
        left_out: Aggregates that are not shown, since their categories are scored by different measures.
    """

    systems: tuple[System, ...]
    pool: ScoreMatrix
    members: Mapping[str, Sequence[str]]
    left_out: Sequence[str]

    @property
    def levels(self) -> Mapping[str, Category]:
        """Return column -> how it is scored, in the form of a category."""
        return self.pool.levels


def derive_columns(systems: Sequence[System]) -> DerivedColumns:
    """Return the further columns of systems that were scored on the same items.

    An aggregate is the micro-average of at least two categories that name it (`aggregate`) and have one measure. A
    column of `extra_columns` has the items of all categories that name it in the same form; rows without a value are
    undefined items. A column without any value is left out.
    """
    levels = systems[0].levels
    parts = _list_members((part, name) for name, category in levels.items() for part in category.aggregate)
    several = {part: names for part, names in parts.items() if len(names) > 1}
    aggregates = {part: names for part, names in several.items() if share_measure(map(levels.__getitem__, names))}
    columns: dict[str, Category] = {}
    members: dict[str, list[str]] = {}
    values: dict[str, list[dict[Item, float]]] = {}
    for part, names in sorted(aggregates.items(), key=lambda aggregate: (len(aggregate[1]), aggregate[0])):
        items = [_join_items(system, names) for system in systems]
        if _has_value(items):
            columns[part], members[part], values[part] = _as_column(part, levels[names[0]]), names, items
    extra = _list_members((of.column, name) for name, category in levels.items() for of in category.extra_columns)
    for column, names in extra.items():
        measures = [_find_extra(levels[name], column) for name in names]
        items = [_read_extra(system, measures[0], names) for system in systems]
        if measures.count(measures[0]) == len(names) and _has_value(items):
            counted = msgspec.structs.replace(measures[0], undefined="counted")
            columns[column] = Category(levels[names[0]].suite, column, counted, levels[names[0]].item)
            members[column], values[column] = names, items
    scored = []
    for row, system in enumerate(systems):
        scores = {column: items[row] for column, items in values.items()}
        scored.append(System(system.name, scores, levels=columns, clusters=system.clusters))
    return DerivedColumns(tuple(scored), align(scored), members, [part for part in several if part not in aggregates])


def share_measure(categories: Iterable[Category]) -> bool:
    """Return whether categories are scored by one measure, so that their items have one mean."""
    first, *others = categories
    return all(category.measure == first.measure for category in others)


def _as_column(name: str, like: Category) -> Category:
    """Return a column in the form of a category, scored like another category."""
    return msgspec.structs.replace(like, name=name, aggregate=(), extra_columns=(), group_by=())


def _join_items(system: System, names: Iterable[str]) -> dict[Item, float]:
    """Return the scores of a system on the items of several categories; an item ends with its category."""
    return {(*item, name): score for name in names for item, score in system.scores[name].items()}


def _find_extra(category: Category, column: str) -> Measure:
    """Return the further column of a category that has a name."""
    return next(measure for measure in category.extra_columns if measure.column == column)


def _list_members(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return column -> its categories, from pairs of them."""
    members: dict[str, list[str]] = {}
    for column, category in pairs:
        members.setdefault(column, []).append(category)
    return members


def _has_value(items: Iterable[Mapping[Item, float]]) -> bool:
    """Return whether some system has a value for some item."""
    return not all(math.isnan(value) for values in items for value in values.values())


def _read_extra(system: System, measure: Measure, names: Sequence[str]) -> dict[Item, float]:
    """Return the values of an extra column, growing with ability; NaN for an item without one."""
    known = {
        (*item, level): value
        for table in system.tables
        if (level := table.level) in names
        for item, value in table.column(measure.column).items()
    }
    return {item: measure.sign * known.get(item, math.nan) + 0.0 for item in _join_items(system, names)}


def split_groups(systems: Sequence[System], field: str) -> list[MeasuredGroups]:
    """Return the groups of items by a field, for each measure by itself: its items have a common mean.

    Each entry has the categories of one measure; the systems, with the groups of the items of these categories in their
    place (an item ends with its category); and the number of items without a group. Categories without the field do not
    count.
    """
    groups = _join_groups(systems, field)
    parts: list[dict[str, Category]] = []
    for name, category in systems[0].levels.items():
        if name not in groups:
            continue
        alike = [part for part in parts if share_measure([*part.values(), category])]
        if alike:
            alike[0][name] = category
        else:
            parts.append({name: category})
    return [_split(systems, dict(zip(part, map(groups.__getitem__, part), strict=True))) for part in parts]


def _join_groups(systems: Sequence[System], field: str) -> dict[str, dict[Item, str]]:
    """Return level -> item -> group over all systems; runs made before the groups were named have none."""
    joined: dict[str, dict[Item, str]] = {}
    for system in systems:
        for level, names in system.groups.get(field, {}).items():
            known = joined.setdefault(level, {})
            for item, group in names.items():
                if known.setdefault(item, group) != group:
                    raise SpeechIQError(
                        f"system {system.name!r}, {show_item(item)}",
                        f"{field} is {group!r:.80} here and {known[item]!r:.80} for another system",
                        "rerun one of the two",
                    )
    return joined


def _split(systems: Sequence[System], groups: Mapping[str, Mapping[Item, str]]) -> MeasuredGroups:
    """Return the systems with groups instead of categories; `groups` has the group of each item of a category."""
    like = systems[0].levels[next(iter(groups))]
    names = sorted({group for name in groups for group in map(groups[name].get, systems[0].scores[name]) if group})
    levels = {group: _as_column(group, like) for group in names}
    scored = []
    for system in systems:
        scores: dict[str, dict[Item, float]] = {group: {} for group in names}
        for name, known in groups.items():
            for item, score in system.scores[name].items():
                if group := known.get(item):
                    scores[group][*item, name] = score
        scored.append(system._replace(scores=scores, levels=levels))
    total = sum(len(systems[0].scores[name]) for name in groups)
    return tuple(groups), tuple(scored), total - sum(map(len, scored[0].scores.values()))
