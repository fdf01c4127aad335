"""List the scores of a result that other forms take, without those that were withdrawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from speechiq.reducer.publishing.schema import CategoryRecord, Result, ScoreRecord, TaskRecord


class Named(NamedTuple):
    """Hold one score with its name: that of the suite for SIQ, else `SUITE_CATEGORY`.

    Attributes:
        name: Its name.
        score: The score and its interval, as the column has it.
        category: The category; None for SIQ.
        tasks: The tasks that it comes from.
    """

    name: str
    score: ScoreRecord
    category: CategoryRecord | None
    tasks: list[TaskRecord]

    @property
    def value(self) -> float:
        """Return the score as people read it: a share in per cent."""
        return self.show(self.score.value or 0.0)

    @property
    def unit(self) -> str:
        """Return the heading of the score."""
        return self.category.unit if self.category else "SIQ"

    @property
    def lower_is_better(self) -> bool:
        """Return whether a lower score is better."""
        return self.category is not None and self.category.direction == "lower"

    @property
    def datasets(self) -> str:
        """Return the names of the data sets."""
        return ", ".join(sorted({str(task.metadata.get("dataset")) for task in self.tasks}))

    @property
    def interval(self) -> str:
        """Return the interval in words; empty without one."""
        low, high = self.score.low, self.score.high
        return "" if low is None or high is None else f"95 % interval {self.show(low):.2f} to {self.show(high):.2f}"

    def show(self, number: float) -> float:
        """Return a value of the column as people read it."""
        return 100 * number if self.unit.endswith("%") else number


def list_scores(result: Result) -> Iterator[Named]:
    """Yield SIQ and the scores of all categories, as far as they are defined and not withdrawn."""
    withdrawn = result.declaration.withdrawn
    for suite, scores in result.suites.items():
        tasks = {category: _tasks_of(result, suite, category) for category in scores.categories}
        if scores.siq and scores.siq.value is not None and withdrawn.keys().isdisjoint(tasks):
            yield Named(suite, scores.siq, None, [task for each in tasks.values() for task in each])
        for category, record in scores.categories.items():
            if record.score.value is not None and category not in withdrawn:
                yield Named(f"{suite}_{category}", record.score, record, tasks[category])


def _tasks_of(result: Result, suite: str, category: str) -> list[TaskRecord]:
    place = suite, category
    return [task for task in result.tasks if (task.metadata.get("suite"), task.metadata.get("category")) == place]
