"""Declare the columns of a score function beside it: their names, directions and aggregations, such as `mean`."""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

Score = TypeVar("Score", bound=Callable[..., Any])
#: Name of an aggregation of lm-eval, or a function that takes the values of all items.
Aggregation = str | Callable[..., float]


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
