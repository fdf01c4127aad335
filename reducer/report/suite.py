"""Gather what the page shows of a suite without a scale: its tables, charts, and the responses to each item."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

import plotly.graph_objects as go
from markupsafe import Markup

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.report import figures
from speechiq.reducer.report.controls import set_apart
from speechiq.reducer.report.identity import short_names
from speechiq.reducer.report.responses import MARKS, Responses, show_response
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.samples import Item, show_item
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.stats.grid import Cell, Column, Grid
from speechiq.reducer.studies.groups import GroupScores, score_groups
from speechiq.reducer.studies.judges.reliability import part_most
from speechiq.reducer.tables.scoreboard_records import rows_of
from speechiq.reducer.tables.scoreboard_table import as_grid, group_grid
from speechiq.reducer.tables.side_tables import reliability_grid
from speechiq.reducer.tables.suite_scores import SuiteScores

#: Answers in the table of those on which judge and rule differ most.
MOST = 10
PARTED = (
    Column("item", "Item"),
    Column("system", "System"),
    Column("judge", "Judge %", ".1f", factor=100.0),
    Column("rule", "Rule %", ".1f", factor=100.0),
    Column("answer", "Answer", kind="words"),
)


@dataclass(frozen=True)
class SuitePage:
    """Hold a suite as the page shows it: its scores, those of groups by each field, and the responses by category."""

    suite: str
    scoreboard: Scoreboard
    groups: Sequence[GroupScores]
    responses: Mapping[str, Responses]

    @property
    def id(self) -> str:
        """Return the id of the section."""
        return f"suite-{self.suite.replace('.', '-')}"

    @property
    def categories(self) -> dict[str, Category]:
        """Return category -> how it is scored."""
        return dict(self.scoreboard.pool.levels)

    @property
    def grids(self) -> dict[str, Grid]:
        """Return id -> table: that of the categories, one for each field by which items have groups, the judge's."""
        grids = {f"{self.id}-standings": set_apart(as_grid(self.scoreboard), self.scoreboard)}
        grids |= group_grids(self.id, self.groups)
        if self.scoreboard.reliability:
            grids[f"{self.id}-judge"] = reliability_grid(self.scoreboard)
        return grids

    def heading(self, category: str) -> str:
        """Return the heading of a category."""
        return title(category)

    def chart_id(self, category: str) -> str:
        """Return the id of a category's chart."""
        return f"{self.id}-chart-{category.replace('.', '-')}"

    def items(self, category: str) -> Grid:
        """Return the items of a category, hardest first, with the responses of each system."""
        responses, labels = self.responses[category], short_names(self.scoreboard.pool.systems)
        order = self.scoreboard.order
        systems = [self.scoreboard.systems[row] for row in order]
        scores = [system.scores[category] for system in systems]
        columns = [Column("item", "Item"), Column("asked", "Asked and expected")]
        columns += [
            Column(self.scoreboard.systems[row].name, labels[row], meaning=self.scoreboard.systems[row].name)
            for row in order
        ]
        rows: list[dict[str, Cell]] = []
        for item in sorted(scores[0], key=lambda item: (_mean_score(item, scores), item)):
            rows.append({"item": show_item(item), "asked": responses.asked.get(item, "")})
            for system, values in zip(systems, scores, strict=True):
                response = responses.given.get(item, {}).get(system.name, Markup())
                judged = system.judged.get(category, {}).get(item)
                rows[-1][system.name] = show_response(self.categories[category].show(values[item]), response, judged)
        return Grid(f"Items of {title(category)}", columns, rows)

    def marks(self, category: str) -> dict[str, str]:
        """Return the marks of a judged category, for the filter of its items; empty without a judge."""
        return MARKS if category in self.scoreboard.reliability else {}

    def parted(self, category: str) -> Grid:
        """Return the answers of all systems on which judge and rule differ most, largest difference first."""
        most = [
            (abs(part.judge - part.rule), system.name, show_item(item), part)
            for system in self.scoreboard.systems
            for item, part in part_most(system.scored_answers(category), MOST)
        ]
        most.sort(key=lambda line: (-line[0], *line[1:3]))
        rows: list[dict[str, Cell]] = [
            {"item": item, "system": system, "judge": part.judge, "rule": part.rule, "answer": part.answer}
            for _, system, item, part in most[:MOST]
        ]
        return Grid("The answers on which judge and rule differ most", PARTED, rows)

    def charts(self) -> dict[str, Any]:
        """Return the plotly figures by the id of their place in the page."""
        return {self.chart_id(category): figures.as_json(self._chart(category)) for category in self.categories}

    def _chart(self, category: str) -> go.Figure:
        rows = [row for row in rows_of(self.scoreboard)[::-1] if row["categories"][category]["score"] is not None]
        cells = [row["categories"][category] for row in rows]
        show = self.categories[category].measure.show_score
        values = [show(cell["score"]) for cell in cells]
        ends = [[show(end) for end in cell["interval"] or [cell["score"]] * 2] for cell in cells]
        names = dict(zip(self.scoreboard.pool.systems, short_names(self.scoreboard.pool.systems), strict=True))
        labels = [figures.escape(names[row["system"]]) for row in rows]
        controls = [bool(row["control"]) for row in rows]
        return figures.scores(labels, values, ends, controls, self.categories[category].unit)


def _mean_score(item: Item, scores: Sequence[Mapping[Item, float]]) -> float:
    """Return the mean over the systems that have a score; above all scores if none has one, so that it comes last."""
    known = [values[item] for values in scores if not math.isnan(values[item])]
    return sum(known) / len(known) if known else math.inf


def gather(found: Found, scores: SuiteScores) -> SuitePage:
    """Read the texts of one suite, and score all groups of its items."""
    scoreboard, suite = scores.scoreboard, scores.scoreboard.suite
    responses = {
        name: Responses(category, [task for task in found.tasks[suite] if task.level == name])
        for name, category in found.levels[suite].items()
    }
    return SuitePage(suite, scoreboard, gather_groups(scores), responses)


def gather_groups(scores: SuiteScores) -> list[GroupScores]:
    """Score the groups of a suite by every field that has several."""
    groups = [*chain.from_iterable(scores.by_group.values())]
    for field in scores.scoreboard.fields:
        if field not in scores.by_group:
            with suppress(SpeechIQError):
                groups += score_groups(scores.scoreboard, field)
    return groups


def group_grids(section: str, groups: Sequence[GroupScores]) -> dict[str, Grid]:
    """Return id -> table of the scores of groups; `section` begins each id."""
    return {
        f"{section}-by-{scores.field}-{number}": set_apart(group_grid(scores), scores.scoreboard)
        for number, scores in enumerate(groups)
    }
