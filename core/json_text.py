"""Decode JSON from other programs into a given form, with NaN and halves of surrogate pairs, within limits."""

from __future__ import annotations

import json
import math
from itertools import chain
from typing import Any, TypeVar

import msgspec

Form = TypeVar("Form")

DEEPEST = 64
#: Bytes of the longest text that is read by `json`, which needs about 20 times as much memory.
LONGEST_LOOSE = 2**25


def decode(text: bytes, decoder: msgspec.json.Decoder[Form]) -> Form:
    """Return the value of a JSON text.

    Args:
        text: The text; NaN, infinities and halves of surrogate pairs, which Python's `json` writes, are accepted.
        decoder: Gives the form; fields that it does not name are skipped.

    Raises:
        msgspec.ValidationError: The value has another form.
        ValueError: The text is not JSON, is nested too deeply, or has NaN and is too long.

    >>> decode(b'{"score": NaN}', msgspec.json.Decoder(dict[str, float]))
    {'score': nan}
    """
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        if len(text) > LONGEST_LOOSE:
            raise ValueError(f"{error}, in a text above {LONGEST_LOOSE} bytes") from error
        return msgspec.convert(_load(text), decoder.type)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def refuse_extremes(value: Any) -> None:
    """Refuse values on which other code fails: nesting deeper than `DEEPEST`, integers above all floats.

    Args:
        value: A value of JSON types.

    Raises:
        ValueError: The value is one of these.

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


def _load(text: bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
