"""Decode JSON from other programs into a given form, with NaN, within limits; every text in it can be encoded."""

import json
import math
import re
from collections.abc import Callable
from itertools import chain
from typing import Any, TypeVar

import msgspec

Form = TypeVar("Form")

DEEPEST = 64
#: Bytes of the longest text that is read by `json`, which needs about 20 times as much memory.
LONGEST_LOOSE = 2**25
_HALF = re.compile("[\ud800-\udfff]")


def decode(text: bytes, decoder: msgspec.json.Decoder[Form], *, strict: bool = False) -> Form:
    r"""Return the value of a JSON text; NaN and infinities, which Python's `json` writes, are accepted.

    Args:
        decoder: Gives the form; fields that it does not name are skipped.
        strict: Whether half a surrogate pair, in a key or a value, is refused; otherwise it becomes U+FFFD.

    Raises:
        msgspec.ValidationError: The value has another form.
        ValueError: The text is not JSON, is nested too deeply, or has NaN and is too long.

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
        change = _refuse_halves if strict else replace_halves
        return msgspec.convert(load(plain, change if "\\ud" in plain.lower() else None), decoder.type)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


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


def load(text: str, change: Callable[[str], str] | None = None) -> Any:
    """Return the value of a JSON text of any form, with each key and text in it changed; else raise `ValueError`."""
    try:
        value = json.loads(text)
        return _change(value, change) if change else value
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _change(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _change(inside, change) for key, inside in value.items()}
    return [_change(inside, change) for inside in value] if isinstance(value, list) else value


def _refuse_halves(text: str) -> str:
    if _HALF.search(text):
        raise ValueError(f"it contains half a surrogate pair, in {text!r:.80}")
    return text
