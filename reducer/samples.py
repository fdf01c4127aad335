"""Reads the sample files of lm-eval (`samples_<task>_<date>.jsonl`), a row at a time."""

from __future__ import annotations

import errno
import json
import math
import stat
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.levels import Level

LONGEST_LINE = 64 * 2**20

Item = tuple[str, ...]


class Samples(NamedTuple):
    """One task's rows.

    Attributes:
        scores: item -> raw score, in file order. NaN is kept, for whoever pools the systems to refuse.
        flags: name -> item -> value, where a row has one.
    """

    scores: dict[Item, float]
    flags: dict[str, dict[Item, float]]


def read_samples(path: Path, level: Level, known: dict[Item, Item] | None = None) -> Samples:
    """Reads one task's scores line by line; of a row only the item's fields, the level's metric and its flags.

    Args:
        path: Of the file.
        level: What to read.
        known: Items of other files, so that equal ones are one object; grows.

    Raises:
        SpeechIQError: The file is missing, empty or cut off, a row lacks a field, or an item stands twice.
    """
    known = {} if known is None else known
    scores: dict[Item, float] = {}
    flags: dict[str, dict[Item, float]] = {flag: {} for flag in level.flags}
    decoder = _decoder(level.metric, level.item, level.flags)
    for number, line in _lines(path):
        try:
            doc, score, *told = _values(line, decoder)
        except (ValueError, RecursionError) as error:
            raise _refusal(path, number, level, error) from error
        item = tuple(str(getattr(doc, field)) for field in level.item)
        item = known.setdefault(item, item)
        if item in scores:
            raise SpeechIQError(
                f"{str(path)!r} line {number}: {show_item(item)} is scored twice in this file; rerun this task"
            )
        scores[item] = level.sign * score + 0.0  # no negative zero
        for flag, value in zip(flags.values(), told, strict=True):
            if value is not None and math.isfinite(value):
                flag[item] = value
    if not scores:
        raise SpeechIQError(f"{str(path)!r} is empty; rerun this task with --log_samples")
    return Samples(scores, flags)


def size_of_file(path: Path) -> int:
    """Bytes of a plain file. Another kind (a device, a pipe that would be waited on for ever) is an `OSError`."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no plain file")
    return status.st_size


def show_item(item: Item) -> str:
    """Names an item in a message, with what does not print escaped.

    >>> show_item(("demo/01", "q2"))
    "clip 'demo/01' question 'q2'"
    """
    return " ".join(f"{kind} {part!r}" for kind, part in zip(("clip", "question"), item, strict=False))


def read_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of one task's sample file, one at a time, each with its place in words for messages.

    Raises:
        SpeechIQError: The file is missing or cannot be read, or a line is no JSON.
    """
    for number, line in _lines(path):
        where = f"{str(path)!r} line {number}"
        try:
            yield where, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _cut_off(where, error) from error


@cache
def _decoder(metric: str, item: tuple[str, ...], flags: tuple[str, ...]) -> msgspec.json.Decoder:
    """Decodes a row into (doc, metric, *flags) and skips the rest, several times as fast as `json`."""
    doc = msgspec.defstruct("Doc", [(field, str | int | float) for field in item], gc=False)
    row = [("doc", doc), (metric, float), *((flag, float | None, None) for flag in flags)]
    return msgspec.json.Decoder(msgspec.defstruct("Row", row, gc=False))


def _values(line: bytes, decoder: msgspec.json.Decoder) -> tuple:
    try:
        row = decoder.decode(line)
    except msgspec.ValidationError:
        raise
    except ValueError:  # lm-eval writes NaN, which is no JSON
        row = msgspec.convert(json.loads(line), decoder.type)
    return msgspec.structs.astuple(row)


def _refusal(path: Path, number: int, level: Level, error: Exception) -> SpeechIQError:
    where = f"{str(path)!r} line {number}"
    if not isinstance(error, msgspec.ValidationError):
        return _cut_off(where, error)
    fields = ", ".join(f"doc.{field}" for field in level.item)
    return SpeechIQError(f"{where} needs {fields} and the number {level.metric!r} ({error}); rerun this task")


def _cut_off(where: str, error: Exception) -> SpeechIQError:
    return SpeechIQError(f"{where} is not a whole JSON object (the file may be cut off): {error}; rerun this task")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The file's lines, numbered from 1."""
    try:
        size_of_file(path)
        with path.open("rb") as file:
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
