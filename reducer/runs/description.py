"""Read how a task describes itself in its metadata, or refuse the description in one line (tutorials/new_suite.md)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.ids import PLAIN
from speechiq.reducer.runs.measure import Category, Measure

#: The keys of a task's metadata that describe it; a task with the first of them takes part.
KEYS = ("measure", "suite", "category", "item", "settings", "aggregate", "extra_columns", "group_by", "order")
GUIDE = "docs/tutorials/new_suite.md lists the keys"
FIXES = {
    "direction": "write higher or lower: which of them is better",
    "column": "name the column of the sample rows that holds the score",
    "unit": "write the heading of the score, such as 'acc. %'",
    "range": "write the lowest and the highest value, such as [0, 1]",
    "chance": "write the score of guessing as the column has it, or leave the key out",
    "alternatives": "write COLUMN: {unit: HEADING} for each further column",
    "undefined": "write counted to leave NaN out of means and count it, or leave the key out",
    "item": "list fields of doc, the clip first, such as [id, question_id]",
    "settings": "list the keys of metadata that scores depend on, such as [judge]",
    "suite": "write a plain name of letters, digits, '-', '_' and '.'",
    "category": "write a plain name of letters, digits, '-', '_' and '.'",
    "aggregate": "list plain names of further columns, which no category has, such as [average]",
    "extra_columns": "list further columns of the rows, each with column, direction and unit",
    "group_by": "list fields of doc that name the group of an item, such as [noise]",
    "order": "list the categories of the suite in the order of their columns",
}
_PLACE = re.compile(r" - at `(?:key in )?\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\w+")


def read_category(metadata: Mapping[str, Any], task: str, file: str) -> Category:
    """Return the category in a task's metadata, by default named like the task; refuse an invalid key."""
    where = f"{file!r}, task {task!r}"
    given = {key: metadata[key] for key in KEYS if key in metadata}
    try:
        category = msgspec.convert({"category": task} | given, Category)
    except msgspec.ValidationError as error:
        raise _refusal(where, given, error) from error
    for key, value, fault in _faults(category):
        raise _refuse(where, key, value, fault)
    return category


def _faults(found: Category) -> Iterator[tuple[str, Any, str]]:
    """Yield (key, value, what is wrong) for each value of the right type that is not allowed."""
    aggregates = [("aggregate", name) for name in found.aggregate]
    for key, name in (("suite", found.suite), ("category", found.name), *aggregates):
        if not PLAIN.fullmatch(name):
            yield key, name, "is not a plain name"
    columns = {found.name}
    for key, name in (*aggregates, *(("extra_columns", of.column) for of in found.extra_columns)):
        if name in columns:
            yield key, name, "is the name of another column of the table"
        columns.add(name)
    yield from _faults_of_measure("measure", found.measure)
    for measure in found.extra_columns:
        yield from _faults_of_measure("extra_columns", measure)
    if not found.item or not all(found.item):
        yield "item", list(found.item), "names no field"
    for field in found.group_by:
        if not PLAIN.fullmatch(field) or (*found.item, *found.group_by).count(field) > 1:
            yield "group_by", field, "is not a plain name, or is listed twice or under item"


def _faults_of_measure(place: str, measure: Measure) -> Iterator[tuple[str, Any, str]]:
    """Yield what is wrong with a measure; `place` is its key."""
    low, high = measure.bounds
    for key, text in (("column", measure.column), ("unit", measure.unit)):
        if not text.strip() or not text.isprintable():
            yield f"{place}.{key}", text, "is not a name that prints"
    if not low < high:
        yield f"{place}.range", list(measure.bounds), "does not go from a lower to a higher number"
    chances = {"chance": measure.chance}
    chances |= {f"alternatives.{column}.chance": other.chance for column, other in measure.alternatives.items()}
    for key, chance in chances.items():
        if chance is not None and not low <= chance <= high:
            yield f"{place}.{key}", chance, f"is outside the range {low:g} to {high:g}"
    if measure.column in measure.alternatives:
        yield f"{place}.alternatives", list(measure.alternatives), "names the usual column as well"


def _refusal(where: str, given: Mapping[str, Any], error: msgspec.ValidationError) -> SpeechIQError:
    """Return the error for metadata of the wrong type; msgspec names the place of the fault."""
    text = str(error)
    place = _PLACE.search(text)
    reason, steps = (text[: place.start()], _STEP.findall(place["path"])) if place else (text, [])
    if missing := re.search(r"missing required field `(\w+)`", text):
        key = ".".join([*steps, missing[1]])
        return SpeechIQError(where, f"metadata has no {key}", FIXES.get(missing[1], GUIDE))
    value: Any = given
    for step in steps:
        value = value.get(step, value) if isinstance(value, Mapping) else value
    return _refuse(where, ".".join(steps), value, f"is not valid ({reason})")


def _refuse(where: str, key: str, value: Any, fault: str) -> SpeechIQError:
    names = [step for step in reversed(key.split(".")) if step in FIXES]
    fix = FIXES[names[0]] if names else GUIDE
    return SpeechIQError(where, f"metadata.{key}: {value!r:.80} {fault}", fix)
