"""Read the three levels of SIQ from their task templates, also for runs that recorded only the level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import speechiq.siq_tasks
from speechiq.reducer.runs.choice import choose
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
    """Return the levels to score, each with its column; see `choice.choose`.

    >>> chosen = choose_levels(["apply=acc_strict"], "remember,apply")
    >>> {level: of.column for level, of in chosen.items()}
    {'remember': 'wer', 'apply': 'acc_strict'}
    """
    columns = {level: category.measure.columns for level, category in LEVELS.items()}
    chosen = choose(columns, measures, levels)
    return {level: LEVELS[level].measured_by(column or LEVELS[level].column) for level, column in chosen.items()}
