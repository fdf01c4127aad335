"""Declare the columns of a score function beside it: their names, directions and aggregations, such as `mean`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

Score = TypeVar("Score", bound=Callable[..., Any])
#: Name of an aggregation of lm-eval, or a function that takes the values of all items.
Aggregation = str | Callable[..., float]
#: A metric that tasks compute themselves, of their measure: how the score depends on the wording of the instruction.
SPREAD = "instruction_spread"
#: Number of the wording of an item that has its own instruction.
OWN = -1


class MetricColumn(NamedTuple):
    """Describe one column of the sample rows of a task, and how lm-eval combines the values of all items."""

    name: str
    higher_is_better: bool
    aggregation: Aggregation

    @property
    def metric(self) -> dict[str, Any]:
        """Return the column as an entry of `metric_list` in a task's YAML."""
        return {"metric": self.name, "aggregation": self.aggregation, "higher_is_better": self.higher_is_better}


Columns = tuple[MetricColumn, ...]
#: Score function -> its columns, declared with `returns`.
DECLARED: dict[Callable[..., Any], Columns] = {}


def higher(*names: str, aggregation: Aggregation = "mean") -> Columns:
    """Return columns whose higher values are better."""
    return tuple(MetricColumn(name, True, aggregation) for name in names)


def lower(*names: str, aggregation: Aggregation = "mean") -> Columns:
    """Return columns whose lower values are better."""
    return tuple(MetricColumn(name, False, aggregation) for name in names)


def returns(*columns: Columns) -> Callable[[Score], Score]:
    """Declare the columns that a score function (`process_results` of a YAML) returns, in their order.

    >>> @returns(higher("found"), lower("missed", "added"))
    ... def score(doc, results): ...
    >>> [(column.name, column.higher_is_better) for column in DECLARED[score]]
    [('found', True), ('missed', False), ('added', False)]
    """

    def declare(score: Score) -> Score:
        DECLARED[score] = sum(columns, ())
        return score

    return declare


def columns_of(score: Any) -> Columns:
    """Return the columns of a score function; none if it declares none or is not a function."""
    return DECLARED.get(score, ()) if callable(score) else ()


def mean(values: Iterable[float]) -> float:
    """Return the mean of the values that are not NaN, which are never counted as 0; NaN if there are none.

    >>> mean([1.0, math.nan, 0.0]), mean([math.nan])
    (0.5, nan)
    """
    defined = [value for value in values if not math.isnan(value)]
    return math.fsum(defined) / len(defined) if defined else math.nan


def mean_rows(rows: Sequence[Mapping[str, float]], names: Iterable[str]) -> dict[str, float]:
    """Return the mean of each of the named columns of rows; see `mean`."""
    means = {}
    for name in names:
        means[name] = mean(row[name] for row in rows)
    return means


class Pooled(float):
    """Hold the score of one item: a float with the `parts` from which the score of several items is computed."""

    parts: Any

    def __new__(cls, score: float, parts: Any = None) -> Pooled:
        """Return a score with its parts."""
        pooled = super().__new__(cls, score)
        pooled.parts = parts
        return pooled


def worded(score: float, doc: Mapping[str, Any]) -> Pooled:
    """Return a score whose parts are the question of its doc without its wording, and the number of the wording.

    `question_id` names the question, else `id` does; a doc without `instruction_id` has its own instruction.

    >>> worded(1.0, {"id": "a"}).parts, worded(1.0, {"id": "a", "question_id": "b#3", "instruction_id": 3}).parts
    (('a', -1), ('b', 3))
    """
    question, wording = doc.get("question_id"), doc.get("instruction_id")
    name = str(doc["id"] if question is None else question)
    return Pooled(score, (name.partition("#")[0], OWN if wording is None else int(wording)))


def spread(scores: Iterable[Pooled]) -> float:
    """Return the standard deviation (n - 1), over wordings, of the mean score; the aggregation of `instruction_spread`.

    NaN if fewer than two wordings were asked about the same items. An item without a score for one of the wordings is
    left out for all.

    >>> spread([Pooled(0, ("a", 0)), Pooled(1, ("a", 1)), Pooled(0, ("b", 0)), Pooled(1, ("b", 1))])
    0.7071067811865476
    >>> spread([Pooled(0, ("a", 0)), Pooled(1, ("b", 1))])
    nan
    """
    import numpy as np  # Whoever lists tasks reads columns, and computes none.

    by_clip: dict[str, dict[int, float]] = defaultdict(dict)
    wordings: set[int] = set()
    for score in scores:
        clip, wording = score.parts
        wordings.add(wording)
        if not math.isnan(score):
            by_clip[clip][wording] = float(score)
    order = sorted(wordings)
    complete = [list(map(found.__getitem__, order)) for found in by_clip.values() if found.keys() == wordings]
    if len(wordings) < 2 or not complete:
        return math.nan
    return float(np.std(np.mean(complete, axis=0), ddof=1))
