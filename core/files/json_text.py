"""Read and write JSON: records, lines of them, and files with the checksum of their content."""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import LARGEST, locate_line, read_plain, reading, stream_lines, write_whole

Form = TypeVar("Form")
MakeObject = Callable[[list[tuple[str, Any]]], dict[str, Any]]

DEEPEST = 64
#: Bytes of the longest text that is read by `json`, which needs about 20 times as much memory.
LONGEST_LOOSE = 2**25
_HALF = re.compile("[\ud800-\udfff]")
#: Digits of the smallest integer that is above all floats.
MOST_DIGITS = 308
_LONG_NUMBER, _FOUR_DIGITS = re.compile(rb"[0-9]{%d}" % MOST_DIGITS), re.compile(b"[0-9]{4}")


def decode(text: bytes, decoder: msgspec.json.Decoder[Form]) -> Form:
    r"""Return the value of a JSON text; NaN and infinities, which Python's `json` writes, are accepted.

    Args:
        decoder: Gives the form; fields that it does not name are skipped.

    Half a surrogate pair, in a key or a value, becomes U+FFFD. A value of another form is a `msgspec.ValidationError`,
    and a text that cannot be read any other `ValueError`.

    >>> decode(b'{"score": NaN, "caf\\ud83d": 1}', msgspec.json.Decoder(dict[str, float]))
    {'score': nan, 'caf�': 1.0}
    """
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        if len(text) > LONGEST_LOOSE:
            raise ValueError(f"{error}, in a text above {LONGEST_LOOSE} bytes") from error
        plain = text.decode("utf-8-sig")
        change = replace_halves if "\\ud" in plain.lower() else None
        return msgspec.convert(load_json(plain, change), decoder.type)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def decode_edited(text: bytes) -> Any:
    """Return the value of a JSON text that a person may have edited, and refuse by `ValueError` what is ambiguous.

    That is a key that occurs twice in an object, half a surrogate pair, and what `refuse_extremes` refuses.

    >>> decode_edited(b'{"id": "a", "text": "Yes.", "id": "b"}')
    Traceback (most recent call last):
    ValueError: the key 'id' occurs twice in an object
    """
    if len(text) > LONGEST_LOOSE:
        raise ValueError(f"it has more than {LONGEST_LOOSE} bytes")
    plain = text.decode("utf-8-sig")
    value = load_json(plain, _refuse_halves if "\\ud" in plain.lower() else None, _refuse_equal_keys)
    refuse_extremes(value)
    return value


def replace_halves(text: str) -> str:
    r"""Return the text with U+FFFD in the place of half surrogate pairs, which UTF-8 cannot encode.

    >>> replace_halves("cafe\ud83d")
    'cafe�'
    """
    return _HALF.sub("\N{REPLACEMENT CHARACTER}", text)


def refuse_extremes(value: Any) -> None:
    """Raise `ValueError` for what other code fails on: nesting deeper than `DEEPEST`, integers above all floats.

    >>> refuse_extremes({"duration": [10**400]})
    Traceback (most recent call last):
    ValueError: it contains a number of 401 digits
    """
    level = [value]
    for _ in range(DEEPEST):
        for number in level:
            if type(number) is int and abs(number) > 2**1023:
                raise ValueError(f"it contains a number of {math.floor(math.log10(abs(number))) + 1} digits")
        nested = (value for value in level if isinstance(value, dict | list))
        inside = [list(value.values()) if isinstance(value, dict) else value for value in nested]
        level = list(chain.from_iterable(inside))
        if not level:
            return
    raise ValueError(f"it is nested more than {DEEPEST} deep")


def may_be_extreme(text: bytes) -> bool:
    """Return whether `refuse_extremes` may refuse the value of a JSON text, by a fast look at its bytes.

    >>> may_be_extreme(b'{"duration": [1]}'), may_be_extreme(b"[" * 100)
    (False, True)
    """
    if text.count(b"[") + text.count(b"{") > DEEPEST - 2:
        return True
    # A number of so many digits is met four times in a row by steps of a quarter of them.
    return _FOUR_DIGITS.search(text[:: MOST_DIGITS // 4]) is not None and _LONG_NUMBER.search(text) is not None


def load_json(text: str, change: Callable[[str], str] | None = None, make_object: MakeObject | None = None) -> Any:
    """Return the value of a JSON text of any form, with each key and text in it changed; else raise `ValueError`.

    `make_object` makes an object of its pairs of key and value, instead of `dict`.
    """
    try:
        value = json.loads(text, object_pairs_hook=make_object)
        return _change(value, change) if change else value
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def load_record(file: Path, form: type[Form], fix: str) -> Form:
    """Return what `write_record` wrote, or refuse it; `fix` is what to do if it cannot be deleted."""
    try:
        return msgspec.json.decode(read_plain(file), type=form)
    except (OSError, ValueError) as error:
        raise SpeechIQError(file, f"cannot be read ({error})", f"delete it, or {fix}") from error


def store_record(record: msgspec.Struct, file: Path, fix: str) -> None:
    """Write a record as JSON, with its folder; `fix` is what to do if that fails."""
    write_whole(file, msgspec.json.format(msgspec.json.encode(record), indent=1), fix, make_folders=True)


def _change(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _change(inside, change) for key, inside in value.items()}
    return [_change(inside, change) for inside in value] if isinstance(value, list) else value


def _refuse_equal_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {counts.most_common(1)[0][0]!r:.80} occurs twice in an object")
    return made


def _refuse_halves(text: str) -> str:
    if _HALF.search(text):
        raise ValueError(f"it contains half a surrogate pair, in {text!r:.80}")
    return text


class Line(NamedTuple):
    """Hold a line with an object: its number from 1, file and line for errors, and the object."""

    number: int
    where: str
    row: dict[str, Any]


def read_objects(path: Path, fix: str, largest: int | None = LARGEST) -> Iterator[Line]:
    """Yield the lines of a UTF-8 file, but no empty ones; `fix` says what to do about a line that is not an object.

    The file has at most `largest` bytes, any number if it is None.
    """
    with reading(path):
        for number, line in enumerate(stream_lines(path, "\n", largest), 1):
            if line.strip():
                yield _read_object(path, number, line, fix)


def _read_object(path: Path, number: int, line: str, fix: str) -> Line:
    where = locate_line(path, number)
    try:
        row = decode_edited(line.encode())
    except ValueError as error:
        raise SpeechIQError(f"{where} is not a whole JSON object ({error})", fix=fix) from error
    if not isinstance(row, dict):
        raise SpeechIQError(f"{where} is not a whole JSON object (it is {row!r:.80})", fix=fix)
    return Line(number, where, row)


def as_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the bytes of such a file; half of a surrogate pair, which UTF-8 cannot encode, is written as an escape."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(errors="backslashreplace")


SHORT = 12


def add_checksum(schema: str, version: int, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of the file: `schema` and `version` in front, `sha256` at the end.

    >>> list(add_checksum("things", 1, {"names": ["a"]}))
    ['schema', 'version', 'names', 'sha256']
    """
    named = {"schema": schema, "version": version, **content}
    return named | {"sha256": content_sha256(named)}


def content_sha256(content: Any) -> str:
    """Return the sha256 of JSON content in canonical form: keys sorted, no spaces, ASCII.

    >>> content_sha256({"b": 1, "a": 2}) == content_sha256({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def shorten(sha256: str) -> str:
    """Return the first digits of a sha256, which are enough for people to compare."""
    return sha256[:SHORT]


def read_checksummed(path: Path, schema: str, version: int, fix: str) -> dict[str, Any]:
    """Return the content of a checksummed file without `sha256`; refuse another schema or version, and a changed file.

    It is standard JSON, which has no NaN and no infinity. `fix` is the command that makes such a file.
    """
    with reading(path, fix):
        text = read_plain(path)
    try:
        content = decode_edited(text)
        json.dumps(content, allow_nan=False)
    except ValueError as error:
        raise SpeechIQError(path, _find_kind(text) or f"is not JSON ({error})", fix) from error
    if not isinstance(content, dict) or content.get("schema") != schema:
        raise SpeechIQError(path, f"is not a {schema} file", fix)
    if content.get("version") != version:
        raise SpeechIQError(
            path, f"has version {content.get('version')!r} of {schema}, this speechiq reads {version}", fix
        )
    recorded = content.pop("sha256", None)
    if recorded != content_sha256(content):
        raise SpeechIQError(path, "was changed after it was made, its sha256 does not match", fix)
    return content


def _find_kind(text: bytes) -> str:
    """Describe a file that is not one JSON text but begins with a line that is one; empty for any other file."""
    first, _, more = text.partition(b"\n")
    try:
        decode_edited(first)
    except ValueError:
        return ""
    if not more.strip():
        return ""
    return "has a JSON text per line, as sample rows and files to review have"
