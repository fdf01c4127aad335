"""Convert generation settings of tasks and `--gen_kwargs` to the one form that engines take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from speechiq.core.checkpoints.opening import first_line
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch._lm_eval import normalize_settings

LENGTHS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")


def normalize(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return `settings` as lm-eval's own model types read them, always with `max_gen_toks`, `do_sample` and `until`.

    A temperature above 0 means sampling unless `do_sample` is given. Without a temperature the model uses its own.

    >>> normalize({"max_new_tokens": 8, "temperature": 0.5, "until": "."})
    {'temperature': 0.5, 'until': ['.'], 'do_sample': True, 'max_gen_toks': 8}

    Raises:
        SpeechIQError: A value is not a number, a length is below 1, or two lengths are given.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    lengths = [name for name in LENGTHS if name in given]
    if len(lengths) > 1:
        first, second = lengths[:2]
        raise SpeechIQError(
            f"--gen_kwargs {second}={given[second]}: {first}={given[first]} is given too; "
            f"give --gen_kwargs {first}={given[second]}"
        )
    sampled = {"temperature": 1.0} if given.get("do_sample") else {}  # without it lm-eval warns of a temperature of 0
    try:
        normal = normalize_settings(sampled | given)
    except (TypeError, ValueError) as error:
        values = ", ".join(f"{name}={given[name]}" for name in ("temperature", *lengths) if name in given)
        raise SpeechIQError(f"--gen_kwargs {values}: {first_line(error)}; give numbers") from error
    if normal["max_gen_toks"] < 1:
        raise SpeechIQError(f"--gen_kwargs max_gen_toks={normal['max_gen_toks']}: allows no token; give 1 or more")
    if "temperature" not in given:
        normal.pop("temperature", None)
    return normal
