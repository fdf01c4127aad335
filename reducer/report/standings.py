"""Gather what the page shows of a scoreboard: its systems in order, with the score of each column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from speechiq.reducer.runs.measure import Category
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.tables.scoreboard_records import rows_of
from speechiq.reducer.tables.scoreboard_table import FLAGS, shown_flags


@dataclass(frozen=True)
class Standings:
    """Hold a table of the page.

    Attributes:
        id: Id of the table.
        about: What the table has, in words.
        scoreboard: The scores.
        notes: The lines below it.
    """

    id: str
    about: str
    scoreboard: Scoreboard
    notes: list[str]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Return one row per system, lowest mean rank first."""
        return rows_of(self.scoreboard)

    @property
    def columns(self) -> dict[str, Category]:
        """Return column -> how it is scored."""
        return self.scoreboard.columns

    @cached_property
    def flags(self) -> dict[str, tuple[str, str]]:
        """Return the failures that some run recorded."""
        return {flag: FLAGS[flag] for flag in shown_flags(self.scoreboard)}

    def heading(self, column: str) -> str:
        """Return the heading of a column."""
        return title(column)

    def cells(self, row: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return column -> the cell of a system."""
        return {**row["categories"], **row["further"]}

    def shown(self, column: str, value: float) -> float:
        """Return a value of a column in shown units."""
        return value * (100.0 if self.columns[column].measure.in_per_cent else 1.0)

    def items(self, column: str) -> int:
        """Return the number of items of a column."""
        return len(self.scoreboard.holder(column, 0).scores[column])
