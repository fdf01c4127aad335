"""Score a suite, and make its grids, the content of its files, and its rows."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from speechiq.reducer.output.scoreboard_records import ALL_SETS, as_json, csv_rows, group_json, group_rows, rows_of
from speechiq.reducer.output.scoreboard_table import as_grid, group_grid
from speechiq.reducer.output.side_tables import reliability_grid
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.ranking import MACRO, macro_average, macro_caption, rank, rank_by_dataset
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.scores.suites import ScoringOptions
from speechiq.reducer.stats.grid import Grid
from speechiq.reducer.studies import unanswerable
from speechiq.reducer.studies.agreement import add_reliability
from speechiq.reducer.studies.groups import GroupScores, score_groups
from speechiq.reducer.studies.prediction.predictors import add_predictive


class SuiteScores(NamedTuple):
    """Hold the scores of one suite.

    Attributes:
        by_dataset: Data set -> the scores on that set alone.
        macro: The mean over data sets; None without them, and if no category has several.
        by_group: Field -> the scores of the items of each group by it, for each measure.
    """

    scoreboard: Scoreboard
    by_dataset: dict[str, Scoreboard]
    macro: Scoreboard | None
    by_group: dict[str, list[GroupScores]]

    @property
    def warnings(self) -> list[str]:
        """Return possible mistakes of the user, a line each."""
        effect = {} if self.scoreboard.scale else {"effect": ""}
        return list(self.scoreboard.remarks.warnings(**effect))

    @property
    def grids(self) -> list[Grid]:
        """Return the grids: all items first, then each part."""
        grids = [as_grid(self.scoreboard)]
        if self.scoreboard.reliability:
            grids.append(reliability_grid(self.scoreboard))
        grids += [as_grid(board, dataset) for dataset, board in self.by_dataset.items()]
        if self.macro:
            notes = macro_caption({dataset: board.pool for dataset, board in self.by_dataset.items()})
            grids.append(as_grid(self.macro, MACRO, notes))
        return grids + [group_grid(scores) for measures in self.by_group.values() for scores in measures]

    @property
    def content(self) -> dict[str, Any]:
        """Return the content of the JSON file."""
        return as_json(self.scoreboard) | {
            "by_dataset": {dataset: as_json(board) for dataset, board in self.by_dataset.items()} or None,
            "macro_average": rows_of(self.macro) if self.macro else None,
            "by_group": {field: [*map(group_json, measures)] for field, measures in self.by_group.items()} or None,
        }

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the CSV file."""
        rows = csv_rows(self.scoreboard, dataset=ALL_SETS)
        for dataset, board in self.by_dataset.items():
            rows += csv_rows(board, dataset=dataset)
        if self.macro:
            rows += csv_rows(self.macro, dataset=MACRO)
        for measures in self.by_group.values():
            for scores in measures:
                rows += group_rows(scores)
        return rows


def score_suite(suite: str, systems: Iterable[System], options: ScoringOptions) -> SuiteScores:
    """Score the systems of one suite; refuse systems that ran other clips, questions or tasks, unless allowed."""
    scoreboard = rank_systems(suite, systems, options)
    parts = score_datasets(scoreboard, options) if options.by_dataset else {}
    macro = macro_average(scoreboard, parts) if parts else None
    fields = [field for field in scoreboard.fields if field == options.group_by]
    return SuiteScores(scoreboard, parts, macro, {field: score_groups(scoreboard, field) for field in fields})


def rank_systems(suite: str, systems: Iterable[System], options: ScoringOptions) -> Scoreboard:
    """Score systems without the questions that the options exclude from SIQ; errors as for `score_suite`."""
    if not is_siq(suite):
        return add_reliability(rank(systems, suite, **_how(options)))
    systems = list(systems)
    kept = unanswerable.leave_out(systems, options.exclude)
    scoreboard = add_predictive(rank(kept, suite, norms=options.norms, **_how(options)))
    rates = unanswerable.rate_hallucination(systems, options.exclude)
    return scoreboard._replace(excluded=len(options.exclude), hallucination=rates)


def score_datasets(scoreboard: Scoreboard, options: ScoringOptions) -> dict[str, Scoreboard]:
    """Return data set -> its scores; errors as for `rank_by_dataset`."""
    parts = rank_by_dataset(scoreboard.systems, scoreboard.suite, **_how(options))
    return {dataset: add_predictive(add_reliability(part)) for dataset, part in parts.items()}


def _how(options: ScoringOptions) -> dict[str, Any]:
    return {
        "rule": options.rule,
        "allow_mismatch": options.allow_mismatch,
        "draws": options.draws,
        "seed": options.seed,
    }
