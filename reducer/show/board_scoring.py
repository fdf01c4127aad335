"""Score and compare a suite without a scale of its own, category by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from speechiq.reducer.read.measure import Category
from speechiq.reducer.read.results_file import TaskRun
from speechiq.reducer.read.runs import System
from speechiq.reducer.read.suites import categories_of
from speechiq.reducer.scoring import Compared, Options, Pair
from speechiq.reducer.show import board_compared, board_scored
from speechiq.reducer.show.scored import Scored


class BoardScoring(NamedTuple):
    """The `Scoring` of every suite that has none of its own."""

    suite: str
    options: Options

    def categories(self, tasks: Sequence[TaskRun]) -> Mapping[str, Category]:
        """Return the categories as the tasks describe them."""
        return categories_of(tasks)

    def score(self, systems: Sequence[System]) -> Scored:
        """Score systems; see `board_scored.score`."""
        return board_scored.score(self.suite, systems, self.options)

    def compare(self, pair: Pair) -> Compared:
        """Compare two systems; see `board_compared.compare`."""
        return board_compared.compare(pair, self.options)
