"""Hold scores as a table of named columns, which every question about runs selects, groups and joins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

Item = tuple[str, ...]
#: What the name of a column with the groups of a field (`metadata.group_by`) begins with.
GROUP = "group_by."


@dataclass(frozen=True, eq=False)
class Table:
    """Hold what is known about scored items, a row each, in columns.

    Attributes:
        columns: What a row is about, in columns with these names:
            item: Name of what is scored: `(clip,)`, or `(clip, question)` if its category has questions.
            clip, level, dataset: Its clip, its category (for SIQ, the level), and the name of the data set.
            task: Name of the task that scored it.
            cluster: What the clip shares with other clips, such as a call or a speaker; None without one.
            group_by.FIELD: Group of the item by a field; None if its task has no such field.
            score: Raw score (larger is better).
            judged: What a judge made of the answer (`runs.judged.Judged`); None without a judge.
        numbers: Columns of the rows that lm-eval wrote, by their names there; NaN for a row without one.
    """

    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    numbers: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    @property
    def clusters(self) -> dict[str, str]:
        """Return clip -> its cluster, for clips that have one."""
        pairs = zip(self["clip"], self["cluster"], strict=True)
        return {clip: cluster for clip, cluster in pairs if cluster is not None}

    def number(self, name: str) -> np.ndarray:
        """Return a column of the rows of lm-eval; NaN if none of them has it."""
        return self.numbers[name] if name in self.numbers else np.full(len(self), np.nan)

    def where(self, kept: np.ndarray) -> Table:
        """Return some of the rows, by a mask; rows that stand together are not copied."""
        places = np.flatnonzero(kept)
        rows: slice | np.ndarray = places
        if len(places) and places[-1] - places[0] == len(places) - 1:
            rows = slice(places[0], places[-1] + 1)
        columns = {name: values[rows] for name, values in self.columns.items()}
        return Table(columns, {name: values[rows] for name, values in self.numbers.items()})

    def where_known(self, name: str) -> Table:
        """Return the rows that have a column of lm-eval's rows."""
        return self.where(~np.isnan(self.number(name)))

    def assign(self, **columns: Any) -> Table:
        """Return the table with further columns, or others in their place; a single value stands in all rows."""
        given = {name: _spread(value, len(self)) for name, value in columns.items()}
        return Table({**self.columns, **given}, self.numbers)

    def group_by(self, name: str) -> dict[Any, Table]:
        """Return each value of a column -> its rows, in the order in which the values come first."""
        values, places = enumerate_values(self[name])
        return {value: self.where(places == place) for place, value in enumerate(values)}

    def by_item(self, values: np.ndarray) -> dict[Item, Any]:
        """Return item -> the value in its row, of values of shape (rows,)."""
        return dict(zip(self["item"], values.tolist(), strict=True))

    def to_frame(self) -> pd.DataFrame:
        """Return all columns as a pandas frame."""
        import pandas as pd

        return pd.DataFrame({**self.columns, **self.numbers})


#: A table without rows.
EMPTY = Table(
    dict.fromkeys(("item", "clip", "level", "dataset", "task", "cluster"), np.empty(0, object)) | {"score": np.empty(0)}
)


def join_tables(tables: Iterable[Table]) -> Table:
    """Return the rows of several tables as one; a row without a column has None there, without a number NaN.

    >>> one, two = (Table({"item": as_column([(clip,)])}, {name: np.array([1.0])}) for clip, name in ("ax", "by"))
    >>> join_tables([one, two]).numbers["x"].tolist()
    [1.0, nan]
    """
    tables = list(tables)
    rows = [len(table) for table in tables]
    columns = _join([table.columns for table in tables], rows, None)
    return Table(columns, _join([table.numbers for table in tables], rows, np.nan))


def as_column(values: Iterable[Any]) -> np.ndarray:
    """Return values that are not numbers as a column; a tuple is one value."""
    listed = list(values)
    return np.fromiter(listed, object, len(listed))


def enumerate_values(values: Iterable[Hashable]) -> tuple[list[Any], np.ndarray]:
    """Return the distinct values of a column, in the order in which they come first, and which of them each row has.

    >>> enumerate_values(["b", "a", "b"])
    (['b', 'a'], array([0, 1, 0]))
    """
    places: dict[Any, int] = {}
    numbers = [places.setdefault(value, len(places)) for value in values]
    return list(places), np.array(numbers, dtype=int)


def _join(
    parts: Sequence[Mapping[str, np.ndarray]], rows: Sequence[int], absent: float | None
) -> dict[str, np.ndarray]:
    """Return name -> the values of all parts, which have some numbers of rows."""
    kinds = {name: values.dtype for columns in parts for name, values in columns.items()}
    joined = {}
    for name, kind in kinds.items():
        values = []
        for columns, count in zip(parts, rows, strict=True):
            values.append(columns[name] if name in columns else np.full(count, absent, kind))
        joined[name] = np.concatenate(values)
    return joined


def _spread(value: Any, rows: int) -> np.ndarray:
    return value if isinstance(value, np.ndarray) else as_column(repeat(value, rows))
