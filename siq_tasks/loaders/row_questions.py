"""Ask the questions that are in the columns of a data set, with the wordings of its instruction."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.instructions import ask_itself, describe, read_wordings
from speechiq.siq_tasks.loaders.asked import Columns, read_columns
from speechiq.siq_tasks.task_types import TASK_TYPES, RowReader, name_task_type

log = logging.getLogger(__name__)


class RowQuestions(NamedTuple):
    """How the rows of one task are asked.

    Attributes:
        columns: The columns of what a row asks.
        read_row: Reads what a row asks; see `task_types.TaskType`.
        metadata: Metadata of the task, with the settings of its type.
    """

    columns: Columns
    read_row: RowReader
    metadata: Mapping[str, Any]

    def read(self, row: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return what a row asks.

        Args:
            row: Its values, by column.
            where: File and row, for errors.

        Raises:
            SpeechIQError: The row cannot be asked; the message has the row and the value.
        """
        return self.read_row(self.columns.pick(row), self.metadata, where)

    def ask(self, clips: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the questions of prepared rows, once for each wording of the instruction with which each is asked.

        Rows without a text in the column of checklists are asked too, and named in a warning.

        Args:
            clips: `id` (of the clip), `question_id` and `row` (values by column) of each row.

        Raises:
            SpeechIQError: As for `read`, or the wordings are unknown.
        """
        rows = [
            {"id": clip["id"], "question_id": clip["question_id"], **self.read(clip["row"], clip["question_id"])}
            for clip in clips
        ]
        self._warn_of_no_checklist(rows)
        gold = Counter(row["gold"] for row in rows if "gold" in row)
        constant = {"majority": gold.most_common(1)[0][0]} if gold else {}
        wordings = read_wordings(self.metadata)
        ask = ask_itself if wordings is None else wordings.ask
        return [again | constant for row in rows for again in ask(row)]

    def _warn_of_no_checklist(self, rows: Sequence[Mapping[str, Any]]) -> None:
        column = self.columns.checklist_column
        without = [row["question_id"] for row in rows if column is not None and not row.get("checklist")]
        if without:
            log.warning(
                "%s: no checklist in column %s, as in %d of %d rows; their replies are judged by the general checklist "
                "alone",
                without[0],
                column,
                len(without),
                len(rows),
            )

    def describe(self) -> dict[str, Any]:
        """Return what the results record about the wordings; see `instructions.describe`."""
        return describe(self.metadata)


def read_row_questions(metadata: Mapping[str, Any]) -> RowQuestions | None:
    """Return how the rows of a task are asked; None for a task whose questions are not in columns.

    Raises:
        SpeechIQError: The columns, the settings or the wordings are invalid, or the task type needs a column
            that the metadata do not name.
    """
    name = name_task_type(metadata)
    task_type = TASK_TYPES.get(name) if isinstance(name, str) else None
    if task_type is None or task_type.read_row is None:
        return None
    columns = read_columns(metadata)
    for key, column in columns._asdict().items():
        if column is None and key in task_type.columns:
            raise SpeechIQError(f"metadata.{key}: missing, and tasks of the type {name} need it; name the column")
    asked = RowQuestions(columns, task_type.read_row, {**metadata, **task_type.read_settings(metadata)})
    if read_wordings(metadata) is None and columns.question_column is None:
        raise SpeechIQError(
            "metadata.question_column: missing, as are instructions; name the column of the questions, or the wordings "
            "of one instruction for all rows"
        )
    return asked
