"""Reads the sample files of lm-eval (`samples_<task>_<date>.jsonl`), a row at a time."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.levels import Level

LONGEST_LINE = 64 * 2**20

Item = tuple[str, ...]


def read_samples(path: Path, level: Level) -> dict[Item, float]:
    """Reads one task's scores line by line; of a row only the item's fields and the level's metric.

    Returns:
        item -> raw score, in file order. NaN is kept, for whoever pools the systems to refuse.

    Raises:
        SpeechIQError: The file is missing, empty or cut off, a row lacks a field, or an item stands twice.
    """
    scores: dict[Item, float] = {}
    for where, row in read_rows(path):
        try:
            item = tuple(sys.intern(str(row["doc"][field])) for field in level.item)
            score = level.sign * _number(row[level.metric]) + 0.0  # no negative zero
        except (KeyError, TypeError, OverflowError) as error:
            fields = ", ".join(f"doc.{field}" for field in level.item)
            raise SpeechIQError(
                f"{where} needs {fields} and the number {level.metric!r} ({type(error).__name__}: {error})"
            ) from error
        if item in scores:
            raise SpeechIQError(f"{where}: {show_item(item)} is scored twice in this file; rerun this task")
        scores[item] = score
    if not scores:
        raise SpeechIQError(f"{str(path)!r} is empty; rerun this task with --log_samples")
    return scores


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
    for number, line in enumerate(_lines(path), 1):
        where = f"{str(path)!r} line {number}"
        try:
            yield where, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise SpeechIQError(
                f"{where} is not a whole JSON object (the file may be cut off): {error}; rerun this task"
            ) from error


def _number(value: Any) -> float:
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return float(value)


def _lines(path: Path) -> Iterator[bytes]:
    """The file's lines; one beyond `LONGEST_LINE` comes in pieces, which are no JSON."""
    try:
        with path.open("rb") as file:
            yield from iter(partial(file.readline, LONGEST_LINE), b"")
    except FileNotFoundError as error:
        raise SpeechIQError(
            f"no samples {path.name!r} in {str(path.parent)!r}: rerun lm_eval with --log_samples"
        ) from error
    except OSError as error:
        raise SpeechIQError(f"{str(path)!r} cannot be read: {error.strerror}") from error
