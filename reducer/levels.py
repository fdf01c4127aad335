"""Define the three levels: what each reads of a sample row and of a task's metadata, and how its score is shown."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from math import comb
from types import MappingProxyType
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError

#: Rules of runs that do not record theirs: those of the package whisper-normalizer, which speechiq used first.
FIRST_RULES = "whisper-normalizer"


class Measure(NamedTuple):
    """Another column of a sample row that a level can be scored by; it has the level's sign and its range.

    Attributes:
        unit: Heading of the score shown in per cent.
        chance: Mean raw score of guessing; None if there is none.
    """

    unit: str
    chance: float | None = None


class Level(NamedTuple):
    """One level of the test.

    Attributes:
        metric: Column of a sample row that holds the score.
        sign: Factor that makes the score grow with ability (section 3.4: WER is taken negative).
        item: Fields of `doc` that name what was scored; the first is the clip.
        unit: Heading of `sign * raw` shown in per cent.
        flags: Columns that say what went wrong beside the score; a row may lack them.
        settings: Further metadata of a task on which the score depends, with their values if not recorded.
        chance: Mean raw score of guessing; None if there is none.
        others: Column -> what it measures, for the other columns that the level can be scored by.
    """

    metric: str
    sign: float
    item: tuple[str, ...]
    unit: str
    flags: tuple[str, ...]
    settings: Mapping[str, Any] = MappingProxyType({})
    chance: float | None = None
    others: Mapping[str, Measure] = MappingProxyType({})

    @property
    def measures(self) -> dict[str, Measure]:
        """Return every column that the level can be scored by, the one in use first."""
        return {self.metric: Measure(self.unit, self.chance), **self.others}

    def measured_by(self, metric: str) -> Level:
        """Return the level scored by another of its columns.

        >>> LEVELS["remember"].measured_by("cer").unit
        'CER %'
        """
        others = self.measures
        unit, chance = others.pop(metric)
        return self._replace(metric=metric, unit=unit, chance=chance, others=MappingProxyType(others))


AT_LEAST_3_OF_5 = sum(comb(5, right) * 4 ** (5 - right) for right in (3, 4, 5)) / 5**5

SHARE = 0.0, 1.0
#: Errors per word or character have no upper limit; more than this no transcript of speech has.
ERRORS = 0.0, 1e6
#: A cosine of float32 vectors may exceed 1 by its rounding.
COSINE = -1 - 1e-6, 1 + 1e-6
#: Column of a sample row -> its lowest and highest value.
RANGES: dict[str, tuple[float, float]] = (
    dict.fromkeys(("wer", "wer_basic", "wer_corpus", "wer_first", "wer_oracle", "cer"), ERRORS)
    | dict.fromkeys(("substitutions", "deletions", "insertions"), ERRORS)
    | dict.fromkeys(("similarity", "similarity_background", "similarity_summary"), COSINE)
    | dict.fromkeys(("acc", "acc_strict", "agreement", "heard", "loop", "unparsed", "none_of_the_above"), SHARE)
    | dict.fromkeys(("corrector_trimmed", "corrector_refused"), SHARE)
)

LEVELS: dict[str, Level] = {
    "remember": Level(
        metric="wer",
        sign=-1.0,
        item=("id",),
        unit="WER %",
        flags=("heard", "loop"),
        settings=MappingProxyType({"normaliser": "english", "normaliser_version": FIRST_RULES}),
        others=MappingProxyType(
            {
                "wer_basic": Measure("basic WER %"),
                "cer": Measure("CER %"),
                "wer_first": Measure("first WER %"),
                "wer_oracle": Measure("oracle WER %"),
            }
        ),
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
        others=MappingProxyType(
            {
                "similarity_background": Measure("background sim. %"),
                "similarity_summary": Measure("summary sim. %"),
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
        others=MappingProxyType({"acc_strict": Measure("strict acc. %", AT_LEAST_3_OF_5)}),
    ),
}


def choose(measures: Iterable[str] = (), levels: str | None = None) -> Mapping[str, Level]:
    """Return the levels to score, each with the column that it is scored by.

    Args:
        measures: `LEVEL=COLUMN` for each level that is not scored by its usual column.
        levels: Names with commas between them; None takes all levels.

    Raises:
        SpeechIQError: A level or a column is unknown, or a level has two columns.

    >>> chosen = choose(["apply=acc_strict"], "remember,apply")
    >>> {level: of.metric for level, of in chosen.items()}
    {'remember': 'wer', 'apply': 'acc_strict'}
    """
    named = LEVELS if levels is None else [level.strip() for level in levels.split(",")]
    for level in named:
        _refuse_unknown(f"--levels {levels}: unknown level", level, LEVELS)
    chosen: dict[str, str] = {}
    for measure in measures:
        level, _, metric = (part.strip() for part in measure.partition("="))
        _refuse_unknown(f"--measure {measure}: unknown level", level, LEVELS)
        _refuse_unknown(f"--measure {measure}: unknown column", metric, LEVELS[level].measures)
        if chosen.setdefault(level, metric) != metric:
            raise SpeechIQError(f"--measure names {chosen[level]} and {metric} for level {level}: choose one")
        if level not in named:
            raise SpeechIQError(f"--measure {measure}: level {level} is not among --levels {levels}; leave one out")
    return {level: of.measured_by(chosen.get(level, of.metric)) for level, of in LEVELS.items() if level in named}


def others_than_usual(levels: Mapping[str, Level]) -> dict[str, str]:
    """Return level -> column, for the levels that are not scored by their usual column.

    >>> others_than_usual(choose(["remember=cer"]))
    {'remember': 'cer'}
    """
    return {level: of.metric for level, of in levels.items() if of.metric != LEVELS[level].metric}


def _refuse_unknown(where: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        nearest = difflib.get_close_matches(name, known, n=1)
        suggestion = f"did you mean {nearest[0]!r}? " if nearest else ""
        raise SpeechIQError(f"{where} {name!r}; {suggestion}choose from {', '.join(known)}")


def raw_range(level: str) -> tuple[float, float]:
    """Return the least and the largest raw score of a level, a fraction that grows with ability.

    >>> raw_range("apply")
    (0.0, 1.0)
    """
    least, largest = (LEVELS[level].sign * end for end in RANGES[LEVELS[level].metric])
    return min(least, largest), max(least, largest)


def per_cent(level: str, raw: float) -> float:
    """The raw score as people read it: a word error rate, a similarity or an accuracy.

    Args:
        level: One of `LEVELS`.
        raw: Mean raw score, a fraction that grows with ability.

    >>> per_cent("remember", -0.125), per_cent("apply", 0.5)
    (12.5, 50.0)
    """
    return 100.0 * LEVELS[level].sign * raw
