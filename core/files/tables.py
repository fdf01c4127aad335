"""Read tables of a user: CSV, TSV, JSON lines, and files of one text per clip."""

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from speechiq.core.console import list_some
from speechiq.core.errors import RowError, SpeechIQError
from speechiq.core.files.json_text import Line, read_objects
from speechiq.core.files.plain import LARGEST, is_file, locate_line, read_lines, reading, stream_lines
from speechiq.core.ids import compose
from speechiq.core.suggestions import did_you_mean

#: Ending -> possible separators; in a `.csv` the one that its header has most often is used.
SEPARATORS = {".jsonl": "", ".json": "", ".csv": ",;\t", ".tsv": "\t"}
#: The first line of a table of Excel that states its separator, and a quoted field.
STATED_SEPARATOR, QUOTED = re.compile(r'"?sep=([,;\t])"?\s*', re.IGNORECASE), re.compile(r'"[^"]*"')
#: Words in an error of the csv module -> the fault.
FAULTS = {"unexpected end": "a double quote is not closed", "expected after": "text follows a closing double quote"}
#: Most columns that an error lists.
MOST_COLUMNS = 40


def is_table(path: Path) -> bool:
    """Return whether a path has the ending of a table."""
    return path.suffix.lower() in SEPARATORS


def read_table(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a table; see `read_rows`."""
    return [line.row for line in read_rows(file)]


def read_rows(file: Path) -> list[Line]:
    """Return the rows of a table, in UTF-8 with or without a byte order mark; refuse what cannot be read.

    A `.json` is read like a `.jsonl`, with an object per line, as manifests are.
    """
    return list(stream_rows(file, LARGEST))


def stream_rows(file: Path, largest: int | None = None) -> Iterator[Line]:
    """Yield the rows of a table as `read_rows` returns them; it may have `largest` bytes, by default any number."""
    if not is_table(file):
        raise SpeechIQError(file, f"not one of {', '.join(SEPARATORS)}", "convert it to one of them")
    if not is_file(file):
        raise SpeechIQError(file, "no such file", "correct the path")
    separators = SEPARATORS[file.suffix.lower()]
    count = 0
    fix = "write an object per line"
    for line in _read_separated(file, separators, largest) if separators else read_objects(file, fix, largest):
        count += 1
        yield line
    if not count:
        raise SpeechIQError(file, "has no rows", "write one line per clip")


def _read_separated(file: Path, separators: str, largest: int | None) -> Iterator[Line]:
    """Yield the rows of a `.csv` or `.tsv`; columns without a name and rows without a value are left out."""
    header: list[str] = []
    for number, line in enumerate(_stream_texts(file, largest), 1):
        if number == 1 and (stated := STATED_SEPARATOR.fullmatch(line)):
            separators, line = stated[1], ""
        if not line.strip():
            continue
        if not header:
            separators = max(separators, key=QUOTED.sub("", line).count)
        where = locate_line(file, number)
        fields = _read_line(line, separators, where)
        if not any(field.strip() for field in fields):
            continue
        if not header:
            header = _read_header(fields, where)
        elif len(fields) > len(header):
            raise SpeechIQError(
                where,
                f"has {len(fields)} fields, the header {len(header)}",
                f"put a field that contains {separators!r} in double quotes",
            )
        else:
            yield Line(number, where, {name: field for name, field in zip_longest(header, fields) if name})


def _stream_texts(file: Path, largest: int | None) -> Iterator[str]:
    with reading(file):
        yield from stream_lines(file, largest=largest)


def _read_header(fields: Sequence[str], where: str) -> list[str]:
    """Return the names of columns without spaces around them; refuse two that differ in nothing but capitals."""
    names = [field.strip() for field in fields]
    places: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if name and (first := places.setdefault(name.casefold(), number)) != number:
            raise SpeechIQError(
                where, f"columns {first} and {number} have the same name, {name!r:.80}", "rename or remove one"
            )
    return names


def _read_line(line: str, separator: str, where: str) -> list[str]:
    """Return the fields of a line. No field has a line break: it would let a missing quote swallow the next rows."""
    try:
        return next(csv.reader([line], delimiter=separator, strict=True, skipinitialspace=True), [])
    except csv.Error as error:
        fault = next((words for sign, words in FAULTS.items() if sign in str(error)), str(error))
        raise SpeechIQError(
            where, fault, 'close each quote in its line and write one inside a text as "", or save the rows as .jsonl'
        ) from error


def read_field(row: Mapping[str, Any], column: str, where: object = "row") -> str:
    """Return a field that must be text; `where` is file and row, for the error if it is not."""
    value = row.get(column)
    if not isinstance(value, str) or not value.strip():
        fault = f"{column} is {value!r:.80}, not a text"
        raise RowError(f"no {column}", fault, "correct or leave out the row", where)
    return value


def read_id(row: Mapping[str, Any], column: str, where: object = "row") -> str:
    """Return a field that names the row: a text or a whole number."""
    value = row.get(column)
    return str(value) if type(value) is int else read_field(row, column, where)


def read_number(value: Any) -> float:
    """Return a number or the number that a text is; NaN for anything else, such as `1_0` or digits of other scripts.

    >>> read_number("1.5"), read_number("1_0"), read_number(True)
    (1.5, nan, nan)
    """
    strange = isinstance(value, str) and ("_" in value or not value.isascii())
    try:
        return math.nan if strange or isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def read_texts(value: Any, column: str) -> list[str]:
    """Return a field of several texts: a list, or one text with `;` between them; empty if there is none.

    >>> read_texts("New York; Peru", "places"), read_texts(["New York"], "places"), read_texts(None, "places")
    (['New York', 'Peru'], ['New York'], [])
    """
    texts = value.split(";") if isinstance(value, str) else value or []
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        fix = "write a list, or one text with ; between them"
        raise RowError(f"no {column}", f"{column} is {value!r:.80}, not a list of texts", fix)
    return [text.strip() for text in texts if text.strip()]


def check_columns(names: Iterable[Any], required: Sequence[str], place: object, fix: str = "rename a column") -> None:
    """Raise a `SpeechIQError` that names the columns of a table or data set if a required one is missing."""
    present = list(map(str, names))
    for column in required:
        if column not in present:
            near, found = did_you_mean(column, present), list_some(present, MOST_COLUMNS)
            raise SpeechIQError(place, f"no column {column!r}; it has {found}", f"{near}{fix}")


#: Endings of files with an id and its words per line; the file of Kaldi is called `text`.
PLAIN = ("", ".txt", ".text")
FORMS = (
    "give a CSV, TSV or JSONL file with the columns id (or audio) and text, a manifest of NeMo, or a `text` file of "
    "Kaldi or ESPnet, with an id and its words per line"
)
#: Column of the file in manifests of NeMo, which is called `audio` here.
AUDIO, MANIFEST_AUDIO = "audio", "audio_filepath"


def read_clip_texts(file: Path) -> list[Line]:
    """Return a row per clip, with `id` or `audio` and mostly `text`; refuse a file that is not one of `FORMS`.

    Rows of tables keep their other columns.
    """
    if is_table(file):
        lines = read_rows(file)
    elif file.suffix.lower() in PLAIN:
        lines = [*_read_plain(file)]
    else:
        raise SpeechIQError(file, f"not one of {', '.join([*SEPARATORS, *PLAIN[1:]])}", FORMS)
    if not lines:
        raise SpeechIQError(file, "has no rows", FORMS)
    return [line._replace(row=_rename(line.row)) for line in lines]


def _read_plain(file: Path) -> Iterator[Line]:
    lines = read_lines(file, file, FORMS)
    if lines[0].startswith("{"):
        yield from read_objects(file, FORMS)
        return
    for number, line in enumerate(lines, 1):
        if parts := line.strip().split(maxsplit=1):
            yield Line(number, locate_line(file, number), {"id": parts[0], "text": "".join(parts[1:])})


def _rename(row: Mapping[str, Any]) -> dict[str, Any]:
    if AUDIO in row or MANIFEST_AUDIO not in row:
        return dict(row)
    return {AUDIO if name == MANIFEST_AUDIO else name: value for name, value in row.items()}


def read_name(row: Mapping[str, Any], where: str) -> str:
    """Return the name of the clip of a row: its id, or else the name of its audio file without the ending.

    >>> read_name({"id": 7, "audio": "monday/call1.wav"}, ""), read_name({"audio": "monday/call1.wav"}, "")
    ('7', 'call1')
    """
    if row.get("id") not in (None, ""):
        return compose(read_id(row, "id", where))
    return compose(Path(read_field(row, AUDIO, where)).stem)
