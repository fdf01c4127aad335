"""Read the sample files of lm-eval (`samples_<task>_<date>.jsonl`), a row at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.files import open_plain
from speechiq.core.json_text import decode, refuse_extremes
from speechiq.reducer.read.measure import Category

LONGEST_LINE = 64 * 2**20
NAMED = "an object doc with an id"
SHARE = 0.0, 1.0
#: Columns that say what went wrong beside the score; a row may lack them.
FLAGS = ("heard", "loop", "unparsed", "none_of_the_above")

Item = tuple[str, ...]


class Samples(NamedTuple):
    """One task's rows.

    Attributes:
        scores: item -> raw score, in file order. NaN is kept, for whoever pools the systems to refuse.
        flags: name -> item -> value, where a row has one.
    """

    scores: dict[Item, float]
    flags: dict[str, dict[Item, float]]


def read_samples(path: Path, category: Category, known: dict[Item, Item] | None = None) -> Samples:
    """Read one task's scores line by line; of a row only the item's fields, the score and the flags.

    Args:
        path: Of the file.
        category: What to read.
        known: Items of other files, so that equal ones are one object; grows.

    Raises:
        SpeechIQError: The file is missing, empty or cut off, a row lacks a field, a value is outside its range, or an
            item is a duplicate.
    """
    known = {} if known is None else known
    scores: dict[Item, float] = {}
    measure, fields = category.measure, category.item
    flags: dict[str, dict[Item, float]] = {flag: {} for flag in FLAGS if flag != measure.column}
    decoder = _decoder(measure.column, fields, tuple(flags))
    for number, line in _lines(path):
        try:
            doc, score, *given = msgspec.structs.astuple(decode(line, decoder))
        except ValueError as error:
            raise _refusal(path, number, category, error) from error
        item = tuple(str(getattr(doc, field)) for field in fields)
        item = known.setdefault(item, item)
        if item in scores:
            raise SpeechIQError(
                f"{str(path)!r} line {number}: {show_item(item)} is scored twice in this file; rerun this task"
            )
        scores[item] = measure.sign * score + 0.0  # no negative zero
        for flag, value in zip(flags.values(), given, strict=True):
            if value is not None and math.isfinite(value):
                flag[item] = value
    if not scores:
        raise SpeechIQError(f"{str(path)!r} is empty; rerun this task with --log_samples")
    lines = list(scores)
    _refuse_outside(path, lines, measure.column, scores, measure.bounds, measure.sign)
    for flag, values in flags.items():
        _refuse_outside(path, lines, flag, values, SHARE)
    return Samples(scores, flags)


def may_hold_scores(path: Path, categories: Iterable[Category]) -> bool:
    """Return whether the first row is one of a category, or cannot be read at all; a file without rows holds no scores.

    Args:
        path: Of the file.
        categories: What the row may hold.

    Raises:
        SpeechIQError: The file cannot be read.
    """
    for _, line in _lines(path):
        return any(_fits(line, _decoder(of.column, of.item, ())) for of in categories)
    return False


def show_item(item: Item) -> str:
    """Names an item in a message, with what does not print escaped.

    >>> show_item(("demo/01", "q2"))
    "clip 'demo/01' question 'q2'"
    """
    return " ".join(f"{kind} {part!r}" for kind, part in zip(("clip", "question"), item, strict=False))


_ROW = msgspec.json.Decoder(dict[str, Any])


def read_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of one task's sample file, each with its place in words for messages.

    Each row has an object `doc` with an `id`; the caller checks its other fields.

    Raises:
        SpeechIQError: The file is missing or cannot be read, or a line is not a row in JSON.
    """
    for where, row in read_records(path, _ROW, NAMED):
        match row.get("doc"):
            case {"id": str() | int() | float()}:
                yield where, row
            case _:
                raise SpeechIQError(f"{where} needs {NAMED}; rerun this task")


def read_records(path: Path, decoder: msgspec.json.Decoder, needs: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of one task's sample file in a given form, each with its place in words for messages.

    Args:
        path: Path of the file.
        decoder: Decoder of the form.
        needs: Required fields of a row, in words.

    Raises:
        SpeechIQError: The file is missing or cannot be read, or a line is not JSON or has another form.
    """
    for number, line in _lines(path):
        where = f"{str(path)!r} line {number}"
        try:
            row = decode(line, decoder)
        except msgspec.ValidationError as error:
            raise SpeechIQError(f"{where} needs {needs} ({error}); rerun this task") from error
        except ValueError as error:
            raise _cut_off(where, error) from error
        try:
            refuse_extremes(row)
        except ValueError as error:
            raise SpeechIQError(f"{where} cannot be used: {error}; rerun this task") from error
        yield where, row


@cache
def _decoder(metric: str, item: tuple[str, ...], flags: tuple[str, ...]) -> msgspec.json.Decoder:
    """Decodes a row into (doc, metric, *flags) and skips the rest, several times as fast as `json`."""
    doc = msgspec.defstruct("Doc", [(field, str | int | float) for field in item], gc=False)
    row = [("doc", doc), (metric, float), *((flag, float | None, None) for flag in flags)]
    return msgspec.json.Decoder(msgspec.defstruct("Row", row, gc=False))


def _fits(line: bytes, decoder: msgspec.json.Decoder) -> bool:
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
            f"{str(path)!r} line {lines.index(item) + 1}: {column!r} of {show_item(item)} is {value:g}, outside "
            f"{low:g} to {high:g} ({outside.size} of {len(lines)} rows){fractions}; rerun this task"
        )


def _refusal(path: Path, number: int, category: Category, error: Exception) -> SpeechIQError:
    where = f"{str(path)!r} line {number}"
    if not isinstance(error, msgspec.ValidationError):
        return _cut_off(where, error)
    fields = ", ".join(f"doc.{field}" for field in category.item)
    return SpeechIQError(
        f"{where} needs {fields} and the number {category.column!r}, by metadata.item and metadata.measure of its "
        f"task ({error}); rerun this task, or correct its metadata"
    )


def _cut_off(where: str, error: Exception) -> SpeechIQError:
    return SpeechIQError(f"{where} is not a whole JSON object (the file may be cut off): {error}; rerun this task")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the file's lines, numbered from 1."""
    try:
        with open_plain(path) as file:
            for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), 1):
                if len(line) == LONGEST_LINE:
                    raise SpeechIQError(
                        f"{str(path)!r} line {number} is longer than {LONGEST_LINE} bytes, which no row of lm-eval "
                        "is; rerun this task"
                    )
                yield number, line
    except FileNotFoundError as error:
        raise SpeechIQError(
            f"no samples {path.name!r} in {str(path.parent)!r}: rerun lm_eval with --log_samples"
        ) from error
    except OSError as error:
        raise SpeechIQError(f"{str(path)!r} cannot be read: {error.strerror}") from error
