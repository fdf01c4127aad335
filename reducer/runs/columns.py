"""Read all numbers of a task's sample rows whose direction is known: its metrics, item by item."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any, NamedTuple

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import decode
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import Name, locate, read_lines, refusal
from speechiq.reducer.runs.samples import Item, show_item


class Columns(NamedTuple):
    """The numbers of one task.

    Attributes:
        task: The task.
        values: Column -> item -> its value; NaN if it is undefined. Columns that no row has are left out.
    """

    task: TaskRun
    values: dict[str, dict[Item, float]]


def read_columns(task: TaskRun, wanted: Collection[str] | None = None) -> Columns:
    """Read the columns of a task whose direction is known.

    Args:
        task: The task.
        wanted: Names of columns; None means all.

    Raises:
        SpeechIQError: The sample file is missing or cut off, a row has another form, or an item is a duplicate.
    """
    names = tuple(column for column in task.signs if wanted is None or column in wanted)
    values: dict[str, dict[Item, float]] = {column: {} for column in names}
    seen: set[Item] = set()
    decoder = _decoder(task.category.item, names)
    for number, line in read_lines(task.samples):
        try:
            doc, *row = msgspec.structs.astuple(decode(line, decoder))
        except ValueError as error:
            needs = f"{', '.join(f'doc.{field}' for field in task.category.item)} and numbers in {', '.join(names)}"
            raise refusal(task.samples, number, needs, error) from error
        item = tuple(map(str, msgspec.structs.astuple(doc)))
        if item in seen:
            raise SpeechIQError(
                f"{locate(task.samples, number)}: {show_item(item)} is scored twice in this file; rerun this task"
            )
        seen.add(item)
        for column, value in zip(names, row, strict=True):
            if value is not msgspec.UNSET:
                values[column][item] = math.nan if value is None else value
    return Columns(task, {column: items for column, items in values.items() if items})


def join_columns(tables: Iterable[Columns], column: str) -> dict[tuple[str, Item], float]:
    """Return (system, item) -> the value of a column, over tasks.

    Args:
        tables: Of any systems.
        column: Name of the column.

    Raises:
        SpeechIQError: Two tasks of a system have different values for one item.
    """
    joined: dict[tuple[str, Item], float] = {}
    sources: dict[tuple[str, Item], str] = {}
    for task, values in tables:
        for item, value in values.get(column, {}).items():
            key = task.system, item
            if joined.setdefault(key, value) != value and not (math.isnan(value) and math.isnan(joined[key])):
                raise SpeechIQError(
                    f"system {task.system!r}, {show_item(item)}: {column} is {joined[key]:g} in task {sources[key]} "
                    f"and {value:g} in task {task.task}; give runs of one of the two"
                )
            sources.setdefault(key, task.task)
    return joined


@cache
def _decoder(item: tuple[str, ...], columns: tuple[str, ...]) -> msgspec.json.Decoder[msgspec.Struct]:
    doc = msgspec.defstruct("Doc", [(field, Name) for field in item], gc=False)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = [("doc", doc)]
    fields += [
        (f"column_{i}", float | None | msgspec.UnsetType, msgspec.field(default=msgspec.UNSET, name=column))
        for i, column in enumerate(columns)
    ]
    return msgspec.json.Decoder(msgspec.defstruct("Row", fields, gc=False))
