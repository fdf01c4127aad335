"""Read the three levels of SIQ from their task templates, also for runs that recorded only the level."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import suggest
from speechiq.metrics.measure import Category, read_category
from speechiq.siq_tasks.index import TEMPLATES, read_task

SUITE = "siq"
#: The levels in the paper's order.
NAMES = ("remember", "understand", "apply")


def _read(level: str) -> Category:
    file = TEMPLATES / f"_{level}.yaml"
    return read_category(read_task(file)["metadata"], level, str(file))


LEVELS: Mapping[str, Category] = MappingProxyType({level: _read(level) for level in NAMES})


def is_siq(suite: str) -> bool:
    """Return whether a suite has the levels and the scale of SIQ, as each of several languages has.

    >>> is_siq("siq"), is_siq("siq.de"), is_siq("assistant")
    (True, True, False)
    """
    return suite.partition(".")[0] == SUITE


def choose_levels(measures: Sequence[str] = (), levels: str | None = None) -> dict[str, Category]:
    """Return the levels to score, each with its column; see `choose_categories`.

    >>> chosen = choose_levels(["apply=acc_strict"], "remember,apply")
    >>> {level: category.column for level, category in chosen.items()}
    {'remember': 'wer', 'apply': 'acc_strict'}
    """
    return choose_categories({SUITE: LEVELS}, measures, levels)[SUITE]


def choose_categories(
    suites: Mapping[str, Mapping[str, Category]], measures: Iterable[str] = (), levels: str | None = None
) -> dict[str, dict[str, Category]]:
    """Return suite -> the categories to score, each with its column; a suite without such a category is left out.

    Args:
        measures: `CATEGORY=COLUMN` for each category that is not scored by its usual column.
        levels: Names of categories, separated by commas; None means all.
    """
    known: dict[str, list[str]] = {}
    for name, category in (pair for categories in suites.values() for pair in categories.items()):
        known.setdefault(name, []).extend(category.measure.columns)
    named = list(known) if levels is None else [level.strip() for level in levels.split(",")]
    for level in named:
        _refuse_unknown(f"--levels {levels}: unknown level", level, known)
    columns: dict[str, str] = {}
    for measure in measures:
        level, equals, column = (part.strip() for part in measure.partition("="))
        if not equals:
            home = next((name for name, columns in known.items() if level in (name, *columns)), named[0])
            example = level if level in known[home] else known[home][0]
            raise SpeechIQError(f"--metrics {measure}", "no LEVEL=COLUMN", f"write one such as {home}={example}")
        _refuse_unknown(f"--metrics {measure}: unknown level", level, known)
        _refuse_unknown(f"--metrics {measure}: unknown column", column, known[level])
        if columns.setdefault(level, column) != column:
            raise SpeechIQError(f"--metrics names {columns[level]} and {column} for level {level}", "choose one")
        if level not in named:
            raise SpeechIQError(
                f"--metrics {measure}", f"level {level} is not among --levels {levels}", "leave one out"
            )
    chosen: dict[str, dict[str, Category]] = {}
    for suite, categories in suites.items():
        for name, category in categories.items():
            if name not in named:
                continue
            if columns.get(name) in category.measure.columns:
                category = category.measured_by(columns[name])
            chosen.setdefault(suite, {})[name] = category
    return chosen


def _refuse_unknown(where: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise SpeechIQError(f"{where} {name!r}", fix=suggest(name, known))
