"""The three levels: what each reads from a sample row and from a task's metadata, and how its raw score is shown."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

#: Rules of runs that do not record theirs: those of the package whisper-normalizer, which speechiq used first.
FIRST_RULES = "whisper-normalizer"


class Level(NamedTuple):
    """One level of the test.

    Attributes:
        metric: Column of a sample row that holds the score.
        sign: Factor that makes the score grow with ability (section 3.4: WER is taken negative).
        item: Fields of `doc` that name what was scored; the first is the clip.
        unit: Heading of `sign * raw` shown in per cent.
        flags: Columns that say what went wrong beside the score; a row may lack them.
        settings: What else of a task's metadata the score hangs on, with what holds where it is not told.
        chance: Mean raw score of guessing; None where there is none.
    """

    metric: str
    sign: float
    item: tuple[str, ...]
    unit: str
    flags: tuple[str, ...]
    settings: Mapping[str, Any] = MappingProxyType({})
    chance: float | None = None


LEVELS: dict[str, Level] = {
    "remember": Level(
        metric="wer",
        sign=-1.0,
        item=("id",),
        unit="WER %",
        flags=("heard", "loop"),
        settings=MappingProxyType({"normaliser": "english", "normaliser_version": FIRST_RULES}),
    ),
    "understand": Level(
        metric="similarity",
        sign=1.0,
        item=("id",),
        unit="sim. %",
        flags=("heard", "loop"),
        settings=MappingProxyType(
            {
                "embedder": None,
                "embedder_template": "plain",
                "embedder_text": "raw",
                "embedder_dtype": "float32",
            }
        ),
    ),
    "apply": Level(
        metric="acc",
        sign=1.0,
        item=("id", "question_id"),
        unit="acc. %",
        flags=("heard", "unparsed", "none_of_the_above"),
        chance=1 / 5,
    ),
}


def per_cent(level: str, raw: float) -> float:
    """The raw score as people read it: a word error rate, a similarity or an accuracy.

    Args:
        level: One of `LEVELS`.
        raw: Mean raw score, a fraction that grows with ability.

    >>> per_cent("remember", -0.125), per_cent("apply", 0.5)
    (12.5, 50.0)
    """
    return 100.0 * LEVELS[level].sign * raw
