"""Define the measure and the category of a task, and read them from its metadata (tutorials/new_suite.md).

A measure is the column that scores a task, a category the task's column in the table of its suite. An invalid
description is refused in one line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any, Literal

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.ids import PLAIN

#: Highest limit between which scores lie; a larger one, as that of error rates, only refuses damaged files.
HIGHEST_LIMIT = 100.0
#: The keys of a task's metadata that describe it; a task with the first of them takes part.
KEYS = ("measure", "suite", "category", "item", "settings", "aggregate", "extra_columns", "group_by", "order")
GUIDE = "docs/tutorials/new_suite.md lists the keys"
FIX_BY_KEY = {
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
    "aggregate": "list plain names of derived columns, which no category has, such as [average]",
    "extra_columns": "list further columns of the rows, each with column, direction and unit",
    "group_by": "list fields of doc that name the group of an item, such as [noise]",
    "order": "list the categories of the suite in the order of their columns",
}
_PLACE = re.compile(r" - at `(?:key in )?\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\w+")


class Alternative(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold another column that can score a category; what it leaves out is as for the usual one. See `Measure`."""

    unit: str
    chance: float | None = None
    direction: Literal["higher", "lower"] | None = None
    range: tuple[float, float] | None = None
    undefined: Literal["counted"] | None = None


class Measure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the column of a sample row that holds the score, and how people read it.

    Attributes:
        unit: Heading of the score; one that ends in % shows a fraction in percent.
        chance: Mean score of guessing, in the scale of the column; None without one.
        range: Lowest and highest value; None without limits.
        alternatives: Further column that can be used -> its unit and chance.
        undefined: `counted` if an item may have no score (NaN): such items are left out of means and comparisons, and
            counted. None if NaN is an error.
    """

    column: str
    direction: Literal["higher", "lower"]
    unit: str
    chance: float | None = None
    range: tuple[float, float] | None = None
    alternatives: dict[str, Alternative] = {}
    undefined: Literal["counted"] | None = None

    @property
    def sign(self) -> float:
        """Return the factor that makes the score grow with ability (section 3.4: WER is taken negative)."""
        return 1.0 if self.direction == "higher" else -1.0

    @property
    def in_per_cent(self) -> bool:
        """Return whether the score is a fraction that people read in percent."""
        return self.unit.endswith("%")

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the lowest and the highest value of the column."""
        return self.range or (-math.inf, math.inf)

    @property
    def is_bounded(self) -> bool:
        """Return whether scores lie between two limits that both occur, as shares, grades and points do.

        >>> ranges = (0, 1), (1, 10), (-1, 1), (0, 1_000_000), None
        >>> [Measure("score", "higher", "points", range=limits).is_bounded for limits in ranges]
        [True, True, False, False, False]
        """
        least, largest = self.bounds
        return least >= 0 and largest <= HIGHEST_LIMIT

    @property
    def raw_range(self) -> tuple[float, float]:
        """Return the least and the largest raw score, which grows with ability."""
        least, largest = (self.sign * end for end in self.bounds)
        return min(least, largest), max(least, largest)

    @property
    def may_be_undefined(self) -> bool:
        """Return whether an item may have no score."""
        return self.undefined is not None

    @property
    def columns(self) -> list[str]:
        """Return every column that can be used, the one in use first."""
        return [self.column, *self.alternatives]

    def show(self, raw: Any) -> Any:
        """Return a raw score, which grows with ability, or an array of them, as people read it.

        >>> Measure("wer", "lower", "WER %").show(-0.125), Measure("grade", "higher", "grade").show(7.5)
        (12.5, 7.5)
        """
        return self.show_score(self.sign * raw)

    def show_score(self, score: Any) -> Any:
        """Return a value of the column, or an array of them, as people read it: a fraction in percent."""
        return (100.0 if self.in_per_cent else 1.0) * score

    @property
    def shown_chance(self) -> float | None:
        """Return the score of guessing as people read it; None if there is none."""
        return None if self.chance is None else self.show_score(self.chance)

    @property
    def record(self) -> dict[str, Any]:
        """Return what files of scores record about it."""
        return {"column": self.column, "direction": self.direction, "unit": self.unit, "chance": self.chance}

    def by(self, column: str) -> Measure:
        """Return the measure that uses another of its columns.

        >>> wer = Measure("wer", "lower", "WER %", alternatives={"cer": Alternative("CER %")})
        >>> wer.by("cer").unit, wer.by("cer").columns
        ('CER %', ['cer', 'wer'])
        >>> kept = Measure("wer", "lower", "WER %", alternatives={"kept": Alternative("kept %", direction="higher")})
        >>> kept.by("kept").direction, kept.by("kept").by("wer").direction
        ('higher', 'lower')
        """
        if column == self.column:
            return self
        others = {self.column: Alternative(self.unit, self.chance)} | self.alternatives
        used = others.pop(column)
        if used.direction or used.range or used.undefined:
            others = {name: self._complete(other) for name, other in others.items()}
        return msgspec.structs.replace(
            self,
            column=column,
            unit=used.unit,
            chance=used.chance,
            direction=used.direction or self.direction,
            range=used.range or self.range,
            undefined=used.undefined or self.undefined,
            alternatives=others,
        )

    def _complete(self, other: Alternative) -> Alternative:
        """Return a column with what it has from the usual one, for when another column becomes the usual one."""
        return Alternative(
            other.unit,
            other.chance,
            other.direction or self.direction,
            other.range or self.range,
            other.undefined or self.undefined,
        )

    def sign_of(self, column: str) -> float:
        """Return the sign of one of its columns; see `sign`."""
        return self.by(column).sign if column in self.alternatives else self.sign


class Category(msgspec.Struct, frozen=True, rename={"name": "category"}):
    """Hold one category of a suite: for SIQ, a level.

    Attributes:
        item: Fields of `doc` that name what is scored; the first is the clip, which is resampled.
        settings: Further metadata keys on which scores depend.
        usual: The usual column if another one is used, else None.
        aggregate: Names of derived columns, each the micro-average of all categories that name it.
        extra_columns: Further columns of its rows, whose means are shown beside the scores.
        group_by: Fields of `doc` that name the group of an item, such as the kind of noise.
        order: Categories of the suite in the order of their columns; those that are not listed follow by name.
    """

    suite: str
    name: str
    measure: Measure
    item: tuple[str, ...]
    settings: tuple[str, ...] = ()
    usual: str | None = None
    aggregate: tuple[str, ...] = ()
    extra_columns: tuple[Measure, ...] = ()
    group_by: tuple[str, ...] = ()
    order: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[int, str]:
        """Return by what the columns of a suite are sorted.

        >>> measure = Measure("acc", "higher", "acc. %")
        >>> [Category("s", name, measure, ("id",), order=("b", "a")).place for name in "abc"]
        [(1, 'a'), (0, 'b'), (2, 'c')]
        """
        return self.order.index(self.name) if self.name in self.order else len(self.order), self.name

    @property
    def column(self) -> str:
        """Return the column of a sample row that holds the score."""
        return self.measure.column

    @property
    def unit(self) -> str:
        """Return the heading of the score."""
        return self.measure.unit

    @property
    def judged(self) -> bool:
        """Return whether scores depend on a judge: tasks with one list the key `judge` under `settings`."""
        return "judge" in self.settings

    @property
    def undefined_word(self) -> str:
        """Return what an item without a score is called."""
        return "unjudged" if self.judged else "undefined"

    def show(self, raw: Any) -> Any:
        """Return a raw score, or an array of them, as people read it; see `Measure.show`."""
        return self.measure.show(raw)

    def measured_by(self, column: str) -> Category:
        """Return the category scored by one of its columns.

        >>> measure = Measure("acc", "higher", "acc. %", alternatives={"f1": Alternative("F1 %")})
        >>> acc = Category("s", "c", measure, ("id",))
        >>> acc.measured_by("f1").usual, acc.measured_by("f1").measured_by("acc") == acc
        ('acc', True)
        """
        if column == self.measure.column:
            return self
        usual = self.usual or self.measure.column
        return msgspec.structs.replace(self, measure=self.measure.by(column), usual=None if column == usual else usual)


def others_than_usual(categories: Mapping[str, Category]) -> dict[str, str]:
    """Return name -> column for each category that is not scored by its usual column."""
    return {name: category.column for name, category in categories.items() if category.usual}


def differences(one: Category, other: Category) -> dict[str, tuple[Any, Any]]:
    """Return metadata key -> both values, for each key in which two descriptions differ.

    `group_by` may differ, and one may have alternatives that the other does not have, as a newer version may.

    >>> wer = Category("s", "c", Measure("wer", "lower", "WER %"), ("id",))
    >>> differences(wer, Category("s", "c", Measure("cer", "lower", "WER %"), ("id",)))
    {'measure.column': ('wer', 'cer')}
    """
    shared = one.measure.alternatives.keys() & other.measure.alternatives.keys()
    here, there = (_flatten(msgspec.to_builtins(category), shared) for category in (one, other))
    return {key: (here.get(key), there.get(key)) for key in here | there if here.get(key) != there.get(key)}


def _flatten(description: Mapping[str, Any], alternatives: Set[str]) -> dict[str, Any]:
    """Return the keys of a description, those of its measure with `measure.` before them."""
    measure = dict(description["measure"])
    measure["alternatives"] = {name: measure["alternatives"][name] for name in sorted(alternatives)}
    return {f"measure.{key}": value for key, value in measure.items()} | {
        key: value for key, value in description.items() if key not in ("measure", "group_by")
    }


def read_category(metadata: Mapping[str, Any], task: str, file: str = "") -> Category:
    """Return the category in a task's metadata, by default named like the task; refuse an invalid key.

    Args:
        file: Where the metadata stand, for errors, if that is not the task itself.
    """
    where = f"{file!r}, task {task!r}" if file else f"task {task!r}"
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
    for key, name in (*aggregates, *(("extra_columns", extra.column) for extra in found.extra_columns)):
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
        return SpeechIQError(where, f"metadata has no {key}", FIX_BY_KEY.get(missing[1], GUIDE))
    value: Any = given
    for step in steps:
        value = value.get(step, value) if isinstance(value, Mapping) else value
    return _refuse(where, ".".join(steps), value, f"is not valid ({reason})")


def _refuse(where: str, key: str, value: Any, fault: str) -> SpeechIQError:
    names = [step for step in reversed(key.split(".")) if step in FIX_BY_KEY]
    fix = FIX_BY_KEY[names[0]] if names else GUIDE
    return SpeechIQError(where, f"metadata.{key}: {value!r:.80} {fault}", fix)
