"""Score and compare by SIQ, which combines the levels on the scale of norms or of the pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.scoring import Compared, Options, Pair
from speechiq.reducer.scores.siq_systems import check_levels
from speechiq.reducer.studies import siq_comparison as compared
from speechiq.reducer.tables import siq_scored as scored
from speechiq.reducer.tables.scored import Scored


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
