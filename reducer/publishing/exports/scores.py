"""List the scores of a result that other forms take, without those that were withdrawn."""

from typing import NamedTuple

import msgspec

from speechiq.reducer.publishing.schema import CategoryRecord, Result, ScoreRecord, TaskRecord


class Named(NamedTuple):
    """Hold a score with its name, `SUITE` for SIQ or `SUITE_CATEGORY`, and the tasks that it comes from."""

    name: str
    category: CategoryRecord
    tasks: list[TaskRecord]

    @property
    def score(self) -> ScoreRecord:
        """Return the score as its column has it."""
        return self.category.score

    @property
    def value(self) -> float:
        """Return the score as people read it."""
        return self.show(self.score.value)

    @property
    def datasets(self) -> str:
        """Return the names of the data sets."""
        return ", ".join(sorted({str(task.metadata.get("dataset")) for task in self.tasks}))

    def show(self, number: float | None) -> float:
        """Return a value of the column as people read it: a share in per cent."""
        return (100 if self.category.unit.endswith("%") else 1) * (number or 0.0)


def list_scores(result: Result) -> list[Named]:
    """Return SIQ and the scores of all categories, as far as they are defined and not withdrawn."""
    withdrawn, listed = result.declaration.withdrawn, []
    for suite, scores in result.suites.items():
        ran = [task for task in result.tasks if task.metadata["suite"] == suite]
        tasks = {name: [task for task in ran if task.metadata["category"] == name] for name in scores.categories}
        if scores.siq and withdrawn.keys().isdisjoint(tasks):
            largest = max(scores.categories.values(), key=lambda category: category.items)
            siq = msgspec.structs.replace(largest, column="siq", direction="higher", unit="SIQ", score=scores.siq)
            listed.append(Named(suite, siq, ran))
        for category, record in scores.categories.items():
            if category not in withdrawn:
                listed.append(Named(f"{suite}_{category}", record, tasks[category]))
    return [named for named in listed if named.score.value is not None]
