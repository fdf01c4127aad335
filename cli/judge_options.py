"""Read `--judge-option`, which several commands with a judge have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from speechiq.core.errors import SpeechIQError


def read_judge_options(options: Iterable[str]) -> dict[str, Any]:
    """Return the metadata of `--judge-option`.

    Args:
        options: `NAME=VALUE` of each.

    Raises:
        SpeechIQError: An option has another form.
    """
    from speechiq.harness_patch._lm_eval import parse_value

    given = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not (name and equals):
            raise SpeechIQError(
                f"--judge-option {option}: not of the form NAME=VALUE; write, for example, temperature=0.7"
            )
        given[f"judge_{name.removeprefix('judge_')}"] = parse_value(value)
    return given
