"""Read what systems wrote about clips and questions: answers and transcripts as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from speechiq.metrics.letters.options import LETTERS
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import AnyDoc, TextRow, read_rows
from speechiq.reducer.runs.samples import Item

NONE_OF_THE_ABOVE = "None of the above"


class Written(NamedTuple):
    """What one system wrote about an item.

    Attributes:
        question: The question; for an assistant, the query itself.
        reference: The reference of the clip.
        right: The right answer; empty if the doc has none.
        text: The answer, or for a task that transcribes the transcript.
    """

    question: str
    reference: str
    right: str
    text: str


def read_written(tasks: Iterable[TaskRun]) -> dict[tuple[str, Item], Written]:
    """Return (system, item) -> what the system wrote, over tasks.

    Raises:
        SpeechIQError: A sample file cannot be read.
    """
    return {
        (task.system, _item(row.doc, task)): Written(
            str(row.doc.question or row.doc.text), str(row.doc.text), _option(row.doc.answer, row.doc), show_answer(row)
        )
        for task in tasks
        for row in read_rows(task.samples, TextRow)
    }


def show_answer(row: TextRow) -> str:
    """Return a response as text: a letter as its option, and the answer out of a judged response."""
    response = row.response
    if isinstance(response, Mapping):
        response = response.get("answer", "")
    return _option(response, row.doc)


def _item(doc: AnyDoc, task: TaskRun) -> Item:
    fields = {"id": doc.id, "question_id": doc.question_id}
    return tuple(str(fields.get(field, "")) for field in task.category.item)


def _option(answer: Any, doc: AnyDoc) -> str:
    """Return an answer as text; of a letter, the option."""
    if not isinstance(answer, str):
        return ""
    options = [*map(str, doc.options), NONE_OF_THE_ABOVE] if isinstance(doc.options, list) else []
    return dict(zip(LETTERS, options, strict=False)).get(answer, answer)
