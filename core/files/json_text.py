"""Decode JSON from other programs into a given form, with NaN, within limits; every text in it can be encoded."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import read_plain, write_whole

Form = TypeVar("Form")
MakeObject = Callable[[list[tuple[str, Any]]], dict[str, Any]]

DEEPEST = 64
#: Bytes of the longest text that is read by `json`, which needs about 20 times as much memory.
LONGEST_LOOSE = 2**25
_HALF = re.compile("[\ud800-\udfff]")


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
        return msgspec.convert(load(plain, change), decoder.type)
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
    value = load(plain, _refuse_halves if "\\ud" in plain.lower() else None, _refuse_equal_keys)
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


def load(text: str, change: Callable[[str], str] | None = None, make_object: MakeObject | None = None) -> Any:
    """Return the value of a JSON text of any form, with each key and text in it changed; else raise `ValueError`.

    `make_object` makes an object of its pairs of key and value, instead of `dict`.
    """
    try:
        value = json.loads(text, object_pairs_hook=make_object)
        return _change(value, change) if change else value
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read_record(file: Path, form: type[Form], fix: str) -> Form:
    """Return what `write_record` wrote, or refuse it; `fix` is what to do if it cannot be deleted."""
    try:
        return msgspec.json.decode(read_plain(file), type=form)
    except (OSError, ValueError) as error:
        raise SpeechIQError(file, f"cannot be read ({error})", f"delete it, or {fix}") from error


def write_record(record: msgspec.Struct, file: Path, fix: str) -> None:
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
