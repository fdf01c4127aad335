"""Read and write JSON lines that a person edits: one object per line; errors name file and line."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import decode_edited
from speechiq.core.files.plain import read_plain


class Line(NamedTuple):
    """Hold a line with an object: its number from 1, file and line for errors, and the object."""

    number: int
    where: str
    row: dict[str, Any]


def read_objects(path: Path, fix: str) -> Iterator[Line]:
    """Yield the lines of a UTF-8 file, but no empty ones; `fix` says what to do about a line that is not an object."""
    try:
        lines = read_plain(path).decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise SpeechIQError(
            f"{str(path)!r} cannot be read", f"it is not UTF-8 ({error})", "save it in UTF-8"
        ) from error
    except OSError as error:
        raise SpeechIQError(f"{str(path)!r} cannot be read", error.strerror, "correct the path") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{str(path)!r} line {number}"
        try:
            row = decode_edited(line.encode())
        except ValueError as error:
            raise SpeechIQError(f"{where} is not a whole JSON object ({error})", fix=fix) from error
        if not isinstance(row, dict):
            raise SpeechIQError(f"{where} is not a whole JSON object (it is {row!r:.80})", fix=fix)
        yield Line(number, where, row)


def as_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the bytes of such a file; half of a surrogate pair, which UTF-8 cannot encode, is written as an escape."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(errors="backslashreplace")
