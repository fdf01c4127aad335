"""Score and compare by SIQ, which combines the levels on the scale of norms or of the pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from speechiq.reducer.read.measure import Category
from speechiq.reducer.read.results_file import TaskRun
from speechiq.reducer.read.runs import System
from speechiq.reducer.scoring import Compared, Options, Pair
from speechiq.reducer.show.scored import Scored
from speechiq.reducer.siq import compared, scored
from speechiq.reducer.siq.levels import LEVELS
from speechiq.reducer.siq.systems import check_levels


class SiqScoring(NamedTuple):
    """The `Scoring` of SIQ."""

    suite: str
    options: Options

    def categories(self, tasks: Sequence[TaskRun]) -> Mapping[str, Category]:
        """Return the levels, with the columns of the norms if norms are used."""
        check_levels(tasks)
        norms = self.options.norms
        if norms is None:
            return LEVELS
        return {level: category.measured_by(norms.levels[level].metric) for level, category in LEVELS.items()}

    def score(self, systems: Sequence[System]) -> Scored:
        """Rank systems; see `scored.score`."""
        return scored.score(systems, self.options)

    def compare(self, pair: Pair) -> Compared:
        """Compare two systems; see `compared.compare`."""
        return compared.compare(pair, self.options)
