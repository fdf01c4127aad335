"""Write and read checksummed JSON files: each names its schema and contains the sha256 of its content."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import decode_edited
from speechiq.core.files.plain import read_plain

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
    try:
        content = _decode(read_plain(path))
    except OSError as error:
        raise SpeechIQError(f"{str(path)!r} cannot be read", error.strerror, fix) from error
    except ValueError as error:
        raise SpeechIQError(f"{str(path)!r} {_find_kind(path) or f'is not JSON ({error})'}", fix=fix) from error
    if not isinstance(content, dict) or content.get("schema") != schema:
        raise SpeechIQError(f"{str(path)!r} is not a {schema} file", fix=fix)
    if content.get("version") != version:
        raise SpeechIQError(
            f"{str(path)!r} has version {content.get('version')!r} of {schema}, this speechiq reads {version}", fix=fix
        )
    recorded = content.pop("sha256", None)
    if recorded != content_sha256(content):
        raise SpeechIQError(f"{str(path)!r} was changed after it was made", "its sha256 does not match", fix)
    return content


def _decode(text: bytes) -> Any:
    """Return the value of a text of standard JSON; refuse NaN and infinity by `ValueError`."""
    content = decode_edited(text)
    json.dumps(content, allow_nan=False)
    return content


def _find_kind(path: Path) -> str:
    """Describe a file that is not one JSON text but begins with a line that is one; empty for any other file."""
    first, _, more = read_plain(path).partition(b"\n")
    try:
        decode_edited(first)
    except ValueError:
        return ""
    if not more.strip():
        return ""
    return "has a JSON text per line, as sample rows and files to review have"
