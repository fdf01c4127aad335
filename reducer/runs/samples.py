"""Read the scores of a task from its sample file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from speechiq.core.console import printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import decode
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.rows import Name, Pick, locate, read_lines, refusal

SHARE = 0.0, 1.0
#: Columns of failures that the score does not show; they are optional.
FLAGS = ("audio_coverage", "repetition", "unparsed", "none_of_the_above")
#: Optional column with the score of a system that gives the same answer to all items of a data set.
FLOOR = "floor"

Item = tuple[str, ...]


class Samples(NamedTuple):
    """Hold the scores of one task's rows, and what is read beside them.

    Attributes:
        scores: Item -> raw score, in file order. NaN is kept; `pool.align` refuses it unless the measure counts it.
        flags: Column of flags, or that the category has beside its score -> item -> value, for rows that have one.
        kinds: Item -> its kind by each field of `group_by`; empty without such fields.
    """

    scores: dict[Item, float]
    flags: dict[str, dict[Item, float]]
    kinds: dict[Item, tuple[str, ...]]


def read_samples(
    path: Path, category: Category, known: dict[Item, Item] | None = None, picks: Sequence[Pick] = ()
) -> Samples:
    """Read one task's scores line by line; of a row, only the fields of the item and its kinds, scores and flags.

    Args:
        path: Path of the sample file.
        category: The category to read, with its column.
        known: Items of other files, so that equal items are one object; new items are added.
        picks: Other readers of the file; each takes every line after its score is read.

    Raises:
        SpeechIQError: The file is missing, empty or cut off, a row misses a field, a value is outside its range, or an
            item is a duplicate.
    """
    known = {} if known is None else known
    scores: dict[Item, float] = {}
    measure = category.measure
    bounds = dict.fromkeys((*FLAGS, FLOOR), SHARE) | {of.column: of.bounds for of in category.extra_columns}
    flags: dict[str, dict[Item, float]] = {flag: {} for flag in bounds if flag != measure.column}
    kinds: dict[Item, tuple[str, ...]] = {}
    sources = {flag: flag for flag in flags if flag != measure.column}
    fields = (*category.item, *category.group_by)
    decoder = _decoder(measure.column, fields, tuple(sources), measure.may_be_undefined)
    for number, line in read_lines(path):
        try:
            doc, score, *given = msgspec.structs.astuple(decode(line, decoder))
        except ValueError as error:
            raise refusal(path, number, _needs(category), error) from error
        named = tuple(map(str, msgspec.structs.astuple(doc)))
        item = named[: len(category.item)]
        item = known.setdefault(item, item)
        if item in scores:
            raise SpeechIQError(
                f"{locate(path, number)}: {show_item(item)} is scored twice in this file; rerun this task"
            )
        if category.group_by:
            kinds[item] = tuple(map(printable, named[len(item) :]))
        scores[item] = math.nan if score is None else measure.sign * score + 0.0  # no negative zero
        for flag, value in zip(sources.values(), given, strict=True):
            if value is not None and math.isfinite(value):
                flags[flag][item] = value
        for pick in picks:
            pick(number, line)
    if not scores:
        raise SpeechIQError(f"{str(path)!r} is empty; rerun this task with --log_samples")
    lines = list(scores)
    _refuse_outside(path, lines, measure.column, scores, measure.bounds, measure.sign)
    for column, shares in flags.items():
        _refuse_outside(path, lines, column, shares, bounds[column])
    return Samples(scores, flags, kinds)


def may_hold_scores(path: Path, categories: Iterable[Category]) -> bool:
    """Return whether the first row has scores of a category, or cannot be read; a file without rows has no scores.

    Args:
        path: Path of the sample file.
        categories: Categories whose scores the row may have.

    Raises:
        SpeechIQError: The file cannot be read.
    """
    for _, line in read_lines(path):
        return any(_fits(line, _decoder(category.column, category.item, (), False)) for category in categories)
    return False


def show_item(item: Item) -> str:
    """Return the name of an item for messages, with unprintable characters escaped.

    >>> show_item(("demo/01", "q2"))
    "clip 'demo/01' question 'q2'"
    """
    return " ".join(f"{kind} {part!r}" for kind, part in zip(("clip", "question"), item, strict=False))


@cache
def _decoder(
    metric: str, item: tuple[str, ...], flags: tuple[str, ...], may_be_null: bool
) -> msgspec.json.Decoder[msgspec.Struct]:
    """Return the decoder of a row's (doc, metric, *flags); it skips other fields, several times as fast as `json`."""
    doc = msgspec.defstruct("Doc", [(field, Name) for field in item], gc=False)
    score = float | None if may_be_null else float
    row: list[tuple[str, Any] | tuple[str, Any, Any]] = [("doc", doc), (metric, score)]
    row += [(flag, float | None, None) for flag in flags]
    return msgspec.json.Decoder(msgspec.defstruct("Row", row, gc=False))


def _needs(category: Category) -> str:
    fields = ", ".join(f"doc.{field}" for field in (*category.item, *category.group_by))
    keys = "metadata.item, metadata.group_by" if category.group_by else "metadata.item"
    return f"{fields} and the number {category.column!r}, by {keys} and metadata.measure of its task"


def _fits(line: bytes, decoder: msgspec.json.Decoder[msgspec.Struct]) -> bool:
    try:
        decode(line, decoder)
    except msgspec.ValidationError:
        return False
    except ValueError:
        return True
    return True


def _refuse_outside(
    path: Path,
    lines: Sequence[Item],
    column: str,
    values: dict[Item, float],
    bounds: tuple[float, float],
    sign: float = 1.0,
) -> None:
    """Raise a `SpeechIQError` if a finite value of a column is outside its range; `lines` are the file's items."""
    low, high = bounds
    found = sign * np.fromiter(values.values(), float, len(values))
    if (outside := np.flatnonzero(np.isfinite(found) & ((found < low) | (found > high)))).size:
        item, value = list(values)[outside[0]], found[outside[0]]
        fractions = (
            f"; fractions are expected, such as {value / 100:g}" if (low, high) == SHARE and 1 < value <= 100 else ""
        )
        raise SpeechIQError(
            f"{locate(path, lines.index(item) + 1)}: {column!r} of {show_item(item)} is {value:g}, outside "
            f"{low:g} to {high:g} ({outside.size} of {len(lines)} rows){fractions}; rerun this task"
        )
