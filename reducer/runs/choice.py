"""Choose the categories to score, and the column that each is scored by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.measure import Category


def choose(
    known: Mapping[str, Collection[str]], measures: Iterable[str] = (), levels: str | None = None
) -> dict[str, str | None]:
    """Return the categories to score, each with the column that the user named; None means the usual one.

    Args:
        known: Every category -> its columns.
        measures: `CATEGORY=COLUMN` for each category that is not scored by its usual column.
        levels: Names, separated by commas; None means all categories.

    Raises:
        SpeechIQError: A category or a column is unknown, or a category is given two columns.

    >>> choose({"remember": ["wer", "cer"], "apply": ["acc"]}, ["remember=cer"])
    {'remember': 'cer', 'apply': None}
    """
    named = list(known) if levels is None else [level.strip() for level in levels.split(",")]
    for level in named:
        _refuse_unknown(f"--levels {levels}: unknown level", level, known)
    chosen: dict[str, str] = {}
    for measure in measures:
        level, _, metric = (part.strip() for part in measure.partition("="))
        _refuse_unknown(f"--metrics {measure}: unknown level", level, known)
        _refuse_unknown(f"--metrics {measure}: unknown column", metric, known[level])
        if chosen.setdefault(level, metric) != metric:
            raise SpeechIQError(f"--metrics names {chosen[level]} and {metric} for level {level}: choose one")
        if level not in named:
            raise SpeechIQError(f"--metrics {measure}: level {level} is not among --levels {levels}; leave one out")
    return {level: chosen.get(level) for level in known if level in named}


def others_than_usual(categories: Mapping[str, Category]) -> dict[str, str]:
    """Return name -> column for each category that is not scored by its usual column."""
    return {name: category.column for name, category in categories.items() if category.usual}


def _refuse_unknown(where: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise SpeechIQError(f"{where} {name!r}; {did_you_mean(name, known)}choose from {', '.join(known)}")
