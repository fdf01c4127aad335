"""Pool items of several categories into further columns of a suite's table (`aggregate` and `extra_columns`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.measure import Category, Measure
from speechiq.reducer.runs.rows import Item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.score_matrix import ScoreMatrix, align


class DerivedColumns(NamedTuple):
    """Hold the further columns of a suite: pooled ones, from few categories to many, then those beside the scores.

    Attributes:
        systems: The systems, scored on these columns instead of on categories; an item ends with its category.
        pool: The same systems, aligned.
        members: Column -> the categories whose items it has.
        left_out: Pooled columns that are not shown, since their categories are scored by different measures.
    """

    systems: tuple[System, ...]
    pool: ScoreMatrix
    members: Mapping[str, Sequence[str]]
    left_out: Sequence[str]

    @property
    def levels(self) -> Mapping[str, Category]:
        """Return column -> how it is scored, in the form of a category."""
        return self.pool.levels


def pool_columns(systems: Sequence[System]) -> DerivedColumns:
    """Return the further columns of systems that were scored on the same items.

    A pooled column has every item of the categories that name it (`aggregate`), at least two, with one
    measure. A column of `extra_columns` has the items of all categories that name it in the same form; rows without a
    value are undefined items. A column without any value is left out.

    Args:
        systems: At least one, with equal categories.
    """
    levels = systems[0].levels
    parts = _group((part, name) for name, of in levels.items() for part in of.aggregate)
    several = {part: names for part, names in parts.items() if len(names) > 1}
    pooled = {part: names for part, names in several.items() if share_measure(levels[name] for name in names)}
    found: dict[str, tuple[Category, list[str]]] = {}
    for part, names in sorted(pooled.items(), key=lambda of: (len(of[1]), of[0])):
        found[part] = as_column(part, levels[names[0]]), names
    values: dict[str, list[dict[Item, float]]] = {
        part: [pool_items(system, names) for system in systems] for part, (_, names) in found.items()
    }
    extra = _group((of.column, name) for name, category in levels.items() for of in category.extra_columns)
    for column, names in extra.items():
        measure = _beside(levels[names[0]], column)
        if all(_beside(levels[name], column) == measure for name in names):
            found[column] = _as_beside(levels[names[0]], measure), names
            values[column] = [_read_beside(system, measure, names) for system in systems]
    known = [column for column, of in values.items() if not all(math.isnan(v) for one in of for v in one.values())]
    columns = {column: found[column][0] for column in known}
    scored = tuple(
        System(system.name, {column: values[column][row] for column in known}, levels=columns)
        for row, system in enumerate(systems)
    )
    members = {column: found[column][1] for column in known}
    return DerivedColumns(scored, align(scored), members, [part for part in several if part not in pooled])


def share_measure(categories: Iterable[Category]) -> bool:
    """Return whether categories are scored by one measure, so that their items have one mean."""
    first, *others = categories
    return all(of.measure == first.measure for of in others)


def as_column(name: str, like: Category) -> Category:
    """Return a column in the form of a category, scored like another category."""
    return msgspec.structs.replace(like, name=name, aggregate=(), extra_columns=(), group_by=())


def pool_items(system: System, names: Iterable[str]) -> dict[Item, float]:
    """Return the scores of a system on the items of several categories; an item ends with its category."""
    return {(*item, name): score for name in names for item, score in system.scores[name].items()}


def _group(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for key, value in pairs:
        grouped.setdefault(key, []).append(value)
    return grouped


def _beside(category: Category, column: str) -> Measure:
    return next(of for of in category.extra_columns if of.column == column)


def _as_beside(like: Category, measure: Measure) -> Category:
    """Return a column beside the scores in the form of a category, whose items may be undefined."""
    counted = msgspec.structs.replace(measure, undefined="counted")
    return Category(like.suite, measure.column, counted, like.item)


def _read_beside(system: System, measure: Measure, names: Sequence[str]) -> dict[Item, float]:
    """Return the values of a column beside the scores, growing with ability; NaN for an item without one."""
    known = {
        (*item, level): value
        for table in system.tables
        if (level := table.level) in names
        for item, value in table.column(measure.column).items()
    }
    wanted = pool_items(system, names)
    return {item: measure.sign * known.get(item, math.nan) + 0.0 for item in wanted}


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
