"""Find the suites in runs, and how each is scored: SIQ on its scale, every other suite category by category."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.read.choice import choose
from speechiq.reducer.read.measure import Category
from speechiq.reducer.read.results_file import TaskRun
from speechiq.reducer.read.runs import System, find_tasks, read_tasks
from speechiq.reducer.read.suites import group
from speechiq.reducer.scoring import Options, Scoring
from speechiq.reducer.show.board_scoring import BoardScoring
from speechiq.reducer.siq.levels import SUITE as SIQ
from speechiq.reducer.siq.scoring import SiqScoring

#: Suites that are scored in a way of their own; all others are scored by `BoardScoring`.
OWN: dict[str, Callable[[str, Options], Scoring]] = {SIQ: SiqScoring}


class Found(NamedTuple):
    """What runs hold.

    Attributes:
        tasks: suite -> the newest run of each of its tasks; suites of `OWN` first, then by name.
        levels: suite -> the categories to score, each with its column.
        scorings: suite -> how it is scored and compared.
        warnings: One line for every choice made between runs.
    """

    tasks: dict[str, list[TaskRun]]
    levels: dict[str, dict[str, Category]]
    scorings: dict[str, Scoring]
    warnings: list[str]

    def read(self, suite: str) -> list[System]:
        """Read the systems of a suite.

        Raises:
            SpeechIQError: A sample file is missing or cannot be used.
        """
        return read_tasks(self.tasks[suite], self.levels[suite])

    @property
    def others(self) -> list[str]:
        """Return the suites without a scale of their own."""
        return [suite for suite in self.levels if suite not in OWN]


def find(
    runs: Iterable[Path],
    allow_missing: bool,
    options: Options,
    *,
    measures: Sequence[str] = (),
    levels: str | None = None,
) -> Found:
    """Find every suite in some folders.

    Args:
        runs: Folders (any depth) or results files.
        allow_missing: As for `find_tasks`.
        options: How the suites are scored.
        measures: `CATEGORY=COLUMN` for each category that is not scored by its usual column.
        levels: Categories to score, with commas between them; None takes all. A suite without one of them is left out.

    Raises:
        SpeechIQError: What `find_tasks` refuses, tasks of a suite that disagree, or a category or column that no suite
            has.
    """
    tasks, warnings = find_tasks(runs, allow_missing)
    suites = dict(sorted(group(tasks).items(), key=lambda of: (of[0] not in OWN, of[0])))
    scorings = {suite: OWN.get(suite, BoardScoring)(suite, options) for suite in suites}
    known = {suite: scorings[suite].categories(of) for suite, of in suites.items()}
    chosen = choose_all(known, measures, levels)
    return Found({suite: suites[suite] for suite in chosen}, chosen, scorings, warnings)


def choose_all(
    known: Mapping[str, Mapping[str, Category]], measures: Sequence[str] = (), levels: str | None = None
) -> dict[str, dict[str, Category]]:
    """Return suite -> the categories to score; a suite without a category of `levels` is left out.

    Args:
        known: suite -> its categories.
        measures: As for `find`.
        levels: As for `find`.

    Raises:
        SpeechIQError: No suite has a category or a column, or a category has two columns.
    """
    columns: dict[str, list[str]] = {}
    for categories in known.values():
        for name, of in categories.items():
            columns.setdefault(name, []).extend(of.measure.columns)
    asked = choose(columns, measures, levels)
    chosen = {
        suite: {
            name: of.measured_by(column) if (column := asked[name]) in of.measure.columns else of
            for name, of in categories.items()
            if name in asked
        }
        for suite, categories in known.items()
    }
    return {suite: categories for suite, categories in chosen.items() if categories}


def refuse_options_of_siq(found: Found, **given: object) -> None:
    """Raise a `SpeechIQError` if an option that only SIQ has is given, and the runs hold no SIQ.

    Args:
        found: What the runs hold.
        **given: Options by name; None if not given.
    """
    for option, value in given.items():
        if value is not None and SIQ not in found.levels:
            raise SpeechIQError(
                f"--{option} {value}: only SIQ has it, and these runs hold suite {', '.join(found.levels)} alone; "
                "leave it out"
            )
