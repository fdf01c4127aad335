"""Files of JSON lines that a person writes or edits: an object a line, faults named by file and line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files import read_plain
from speechiq.core.json_text import decode, refuse_extremes

_ANY = msgspec.json.Decoder()


class Line(NamedTuple):
    """A line that holds an object.

    Attributes:
        number: from 1.
        where: file and line, for errors.
        row: the object.
    """

    number: int
    where: str
    row: dict[str, Any]


def read_objects(path: Path, fix: str) -> Iterator[Line]:
    """The lines of a file; empty ones are passed over.

    Args:
        path: in UTF-8, with or without a byte order mark.
        fix: what to do about a line that is no object.

    Raises:
        SpeechIQError: the file cannot be read, or a line is no JSON object.
    """
    try:
        lines = read_plain(path).decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise SpeechIQError(f"{str(path)!r} cannot be read: it is not UTF-8 ({error}); save it in UTF-8") from error
    except OSError as error:
        raise SpeechIQError(f"{str(path)!r} cannot be read: {error.strerror}; correct the path") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{str(path)!r} line {number}"
        try:
            row = decode(line.encode(), _ANY)
            refuse_extremes(row)
        except ValueError as error:
            raise SpeechIQError(f"{where} is not a whole JSON object ({error}); {fix}") from error
        if not isinstance(row, dict):
            raise SpeechIQError(f"{where} is not a whole JSON object (it holds {row!r:.80}); {fix}")
        yield Line(number, where, row)


def as_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The bytes of such a file; half a surrogate pair, which UTF-8 has no form for, is written as its escape."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(errors="backslashreplace")
