"""List the options in which two runs of a system differ, as `hf-audio` recorded them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from speechiq.core.console import printable

EXAMPLES = 3
LONGEST = 60
ABSENT = "none"


def changes(older: Mapping[str, Any], newer: Mapping[str, Any]) -> str:
    """Return the first options that differ, as `stage.option old -> new`; empty if none does.

    >>> changes({"kind": "cascade", "asr": {"num_beams": 1}}, {"kind": "cascade", "asr": {"num_beams": 5, "beam": "x"}})
    "asr.num_beams 1 -> 5, asr.beam none -> 'x'"
    """
    before, after = dict(_flatten(older)), dict(_flatten(newer))
    differ = [name for name in before | after if before.get(name) != after.get(name)]
    shown = [f"{printable(name)} {_show(before, name)} -> {_show(after, name)}" for name in differ]
    return ", ".join(shown[:EXAMPLES]) + f", and {len(differ) - EXAMPLES} more" * (len(differ) > EXAMPLES)


def _flatten(described: Mapping[str, Any], stage: str = "") -> Iterator[tuple[str, str]]:
    for name, value in described.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{stage}{name}.")
        else:
            yield f"{stage}{name}", repr(value)


def _show(options: Mapping[str, str], name: str) -> str:
    value = options.get(name, ABSENT)
    return value if len(value) <= LONGEST else f"{value[:LONGEST]}..."
