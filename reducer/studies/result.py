"""Hold the answer to a question about runs in the one form that is printed, written and drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.stats.grid import Grid


@dataclass(frozen=True)
class StudyResult:
    """Hold the answer to a question about runs.

    Attributes:
        schema: Kind of its JSON file, such as `speechiq-scores`.
        content: Content of the JSON file; records, arrays and estimates are converted.
        rows: Rows of the CSV file, flattened; None takes those of the first grid.
        lines: What is printed below the tables.
        tasks: The tasks that it was computed from.
        details: What pages draw in addition to the tables; its study says what that is.
        warnings: Possible mistakes of the user, a line each, which are printed on stderr.
    """

    schema: str
    grids: Sequence[Grid]
    content: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]] | None = None
    lines: Sequence[str] = ()
    tasks: Sequence[TaskRun] = ()
    details: Any = None
    warnings: Sequence[str] = ()
