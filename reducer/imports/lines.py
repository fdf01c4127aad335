"""Read the lines of files of any size one at a time, and the fields of rows that others wrote."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import Line, decode
from speechiq.core.files.plain import open_plain
from speechiq.core.files.tables import read_number

#: Bytes of the longest line that is read.
LONGEST = 2**25
#: Endings of audio files, which are no part of the name of a clip; other dots are.
AUDIO_ENDING = re.compile(r"\.(?:wav|flac|mp3|ogg|opus|m4a|aac|webm|sph)$", re.IGNORECASE)
_ROW = msgspec.json.Decoder(dict[str, Any])


def read_text_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield file and number of each line of a UTF-8 file that is not blank, for errors, and the line itself."""
    is_empty = True
    try:
        with open_plain(path) as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), 1):
                where = f"{path} line {number}"
                text = _decode_line(line, where, "utf-8-sig" if number == 1 else "utf-8")
                if text.strip():
                    is_empty = False
                    yield where, text
    except OSError as error:
        raise SpeechIQError(path, f"cannot be read ({error.strerror})", "correct the path") from error
    if is_empty:
        raise SpeechIQError(path, "has no rows", "name a file with a line per clip")


def _decode_line(line: bytes, where: str, encoding: str) -> str:
    if len(line) > LONGEST:
        raise SpeechIQError(where, f"is longer than {LONGEST} bytes", "write a line per clip")
    try:
        return line.decode(encoding).rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise SpeechIQError(where, f"not UTF-8 ({error})", "save the file in UTF-8") from error


def read_json_lines(path: Path) -> Iterator[Line]:
    """Yield the objects of a file with one per line, numbered from 1; refuse a line that is not an object."""
    for number, (where, text) in enumerate(read_text_lines(path), 1):
        try:
            yield Line(number, where, decode(text.encode(), _ROW))
        except ValueError as error:
            raise SpeechIQError(where, f"not a whole JSON object ({error})", "correct or remove the line") from error


def read_first_row(path: Path) -> dict[str, Any]:
    """Return the object in the first line that is not blank; an empty one if there is none."""
    try:
        return next(read_json_lines(path)).row
    except SpeechIQError:
        return {}


def find_text(row: Mapping[str, Any], *columns: str) -> str | None:
    """Return the first of several fields that is a text; None if none is.

    >>> find_text({"question": None, "prompt": "Where?"}, "question", "prompt"), find_text({"text": 7}, "text")
    ('Where?', None)
    """
    for column in columns:
        value = row.get(column)
        if isinstance(value, str):
            return value
    return None


def find_number(row: Mapping[str, Any], column: str) -> float | None:
    """Return a field that is a finite number; None if it is not.

    >>> find_number({"duration": "2.5"}, "duration"), find_number({"duration": None}, "duration")
    (2.5, None)
    """
    number = read_number(row.get(column))
    return number if math.isfinite(number) else None


def name_systems(paths: Collection[Path]) -> dict[Path, str]:
    """Return file -> name of its system: that of the file, or that of its folder if several files have the same name.

    >>> list(name_systems([Path("a/dev.json"), Path("b/dev.json"), Path("whisper.json")]).values())
    ['a', 'b', 'whisper']
    """
    counts = Counter(path.stem for path in paths)
    return {path: path.stem if counts[path.stem] == 1 else path.absolute().parent.name for path in paths}
