"""Score and compare a suite without a scale of its own, category by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.tasks import categories_of
from speechiq.reducer.scores.scoring import Compared, Options, Pair
from speechiq.reducer.studies import scoreboard_comparison as scoreboard_compared
from speechiq.reducer.tables import scoreboard_scored as scoreboard_scored
from speechiq.reducer.tables.scored import Scored


class ScoreboardScoring(NamedTuple):
    """The `Scoring` of every suite that has none of its own."""

    suite: str
    options: Options

    def categories(self, tasks: Sequence[TaskRun]) -> Mapping[str, Category]:
        """Return the categories as the tasks describe them."""
        return categories_of(tasks)

    def score(self, systems: Sequence[System]) -> Scored:
        """Score systems; see `scoreboard_scored.score`."""
        return scoreboard_scored.score(self.suite, systems, self.options)

    def compare(self, pair: Pair) -> Compared:
        """Compare two systems; see `scoreboard_compared.compare`."""
        return scoreboard_compared.compare(pair, self.options)
