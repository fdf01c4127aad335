"""Read the three levels of SIQ from their task templates, also for runs that recorded only the level."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import speechiq.siq_tasks
from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.description import read_category
from speechiq.reducer.runs.measure import Category
from speechiq.siq_tasks.task_files import read_task

SUITE = "siq"
TEMPLATES = Path(speechiq.siq_tasks.__file__).parent / "templates"
#: The levels in the paper's order.
NAMES = ("remember", "understand", "apply")


def _read(level: str) -> Category:
    file = TEMPLATES / f"_{level}.yaml"
    return read_category(read_task(file)["metadata"], level, str(file))


LEVELS: Mapping[str, Category] = MappingProxyType({level: _read(level) for level in NAMES})


def choose_levels(measures: Sequence[str] = (), levels: str | None = None) -> dict[str, Category]:
    """Return the levels to score, each with its column; see `choose`.

    >>> chosen = choose_levels(["apply=acc_strict"], "remember,apply")
    >>> {level: of.column for level, of in chosen.items()}
    {'remember': 'wer', 'apply': 'acc_strict'}
    """
    columns = {level: category.measure.columns for level, category in LEVELS.items()}
    chosen = choose(columns, measures, levels)
    return {level: LEVELS[level].measured_by(column or LEVELS[level].column) for level, column in chosen.items()}


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


def _refuse_unknown(where: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise SpeechIQError(f"{where} {name!r}; {did_you_mean(name, known)}choose from {', '.join(known)}")
