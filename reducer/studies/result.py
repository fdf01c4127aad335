"""Hold the answer to a question about runs in the one form that is printed, written and drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speechiq.core.files.page import Page
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
        page: Makes the page, for commands with the format `page`.
        write_folder: Writes results files of lm-eval into a folder, for commands with the format `publish.HARNESS`.
    """

    schema: str
    grids: Sequence[Grid]
    content: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]] | None = None
    lines: Sequence[str] = ()
    tasks: Sequence[TaskRun] = ()
    details: Any = None
    page: Callable[[], Page] | None = None
    write_folder: Callable[[Path], None] | None = None
