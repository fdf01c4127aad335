"""Derive columns of a suite from the items of its categories: aggregates, extra columns, and groups of items."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.measure import Category, Measure
from speechiq.reducer.runs.samples import show_item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.table import EMPTY, GROUP, Item, Table, as_column, join_tables
from speechiq.reducer.scores.score_matrix import ScoreMatrix, align

#: Categories, systems with groups in their place, and number of items without a group (`split_groups`).
MeasuredGroups = tuple[tuple[str, ...], tuple[System, ...], int]


class DerivedColumns(NamedTuple):
    """Hold the derived columns of a suite: aggregates, from few categories to many, then extra columns.

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
    """Return the derived columns of systems that were scored on the same items.

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
    tables: dict[str, list[Table]] = {}
    for part, names in sorted(aggregates.items(), key=lambda aggregate: (len(aggregate[1]), aggregate[0])):
        columns[part], members[part] = _as_column(part, levels[names[0]]), names
        tables[part] = [_join_levels(system, names).assign(level=part) for system in systems]
    named = [(extra.column, name) for name, category in levels.items() for extra in category.extra_columns]
    extra = _list_members(named)
    for column, names in extra.items():
        measures = [_find_extra(levels[name], column) for name in names]
        if measures.count(measures[0]) == len(names):
            counted = msgspec.structs.replace(measures[0], undefined="counted")
            columns[column] = Category(levels[names[0]].suite, column, counted, levels[names[0]].item)
            members[column] = names
            joined = [_join_levels(system, names).assign(level=column) for system in systems]
            tables[column] = [rows.assign(score=counted.sign * rows.number(column) + 0.0) for rows in joined]
    kept = [column for column, of_systems in tables.items() if any(map(_has_score, of_systems))]
    shown = {column: columns[column] for column in kept}
    scored = []
    for place, system in enumerate(systems):
        rows = join_tables([EMPTY, *(tables[column][place] for column in kept)])
        scored.append(System(system.name, rows, levels=shown))
    left_out = [part for part in several if part not in aggregates]
    return DerivedColumns(tuple(scored), align(scored), {column: members[column] for column in kept}, left_out)


def share_measure(categories: Iterable[Category]) -> bool:
    """Return whether categories are scored by one measure, so that their items have one mean."""
    first, *others = categories
    return all(category.measure == first.measure for category in others)


def _as_column(name: str, like: Category) -> Category:
    """Return a column in the form of a category, scored like another category."""
    return msgspec.structs.replace(like, name=name, aggregate=(), extra_columns=(), group_by=())


def _join_levels(system: System, names: Collection[str]) -> Table:
    """Return the rows of some categories; an item ends with its category, so that items of several stay apart."""
    rows = system.table.where(np.isin(system.table["level"], [*names]))
    return rows.assign(item=as_column((*item, level) for item, level in zip(rows["item"], rows["level"], strict=True)))


def _has_score(rows: Table) -> bool:
    """Return whether some row has a score."""
    return not np.isnan(rows["score"]).all()


def _find_extra(category: Category, column: str) -> Measure:
    """Return the derived column of a category that has a name."""
    return next(measure for measure in category.extra_columns if measure.column == column)


def _list_members(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return column -> its categories, from pairs of them."""
    members: dict[str, list[str]] = {}
    for column, category in pairs:
        members.setdefault(column, []).append(category)
    return members


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
        for level, rows in system.by_level.items():
            groups = rows.columns.get(GROUP + field, ())
            for item, group in zip(rows["item"], groups, strict=False):
                if group is None:
                    continue
                if joined.setdefault(level, {}).setdefault(item, group) != group:
                    raise SpeechIQError(
                        f"system {system.name!r}, {show_item(item)}",
                        f"{field} is {group!r:.80} here and {joined[level][item]!r:.80} for another system",
                        "rerun one of the two",
                    )
    return joined


def _split(systems: Sequence[System], groups: Mapping[str, Mapping[Item, str]]) -> MeasuredGroups:
    """Return the systems with groups instead of categories; `groups` has the group of each item of a category."""
    like = systems[0].levels[next(iter(groups))]
    scored = []
    for system in systems:
        rows = _join_levels(system, groups)
        named = (groups[level].get(item[:-1], "") for item, level in zip(rows["item"], rows["level"], strict=True))
        rows = rows.assign(level=as_column(named))
        scored.append(system.replace(table=rows.where(rows["level"] != "")))
    levels = {group: _as_column(group, like) for group in sorted(scored[0].by_level)}
    without = sum(len(systems[0].by_level[name]) for name in groups) - len(scored[0].table)
    return tuple(groups), tuple(system.replace(levels=levels) for system in scored), without
