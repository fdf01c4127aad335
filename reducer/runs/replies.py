"""Read what systems were asked and what they replied word for word, for people who look at single answers."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import Name, read_sample_rows
from speechiq.reducer.runs.table import Item

NEEDS = "id and question_id of doc"


class _Question(msgspec.Struct):
    """Hold the parts of a doc that name a question."""

    id: Name
    question_id: Name


class _Arguments(msgspec.Struct):
    """Hold the prompt of a request of lm-eval."""

    arg_0: Any = None


class _RepliesRow(msgspec.Struct):
    """Hold a row of a task that asks questions, with its requests and the replies to them."""

    doc: _Question
    arguments: dict[str, _Arguments] = {}
    resps: list[Any] = []


class Replies(NamedTuple):
    """Hold prompts and replies.

    Attributes:
        prompts: (clip, question) -> the prompt; `<audio>` stands for the sound, or for a cascade's transcript of it.
        texts: System -> (clip, question) -> the distinct replies, in the order of their first occurrence.
    """

    prompts: dict[Item, str]
    texts: dict[str, dict[Item, tuple[str, ...]]]


NO_REPLIES = Replies({}, {})


def read_replies(tasks: Iterable[TaskRun]) -> Replies:
    """Return the prompts and replies of the tasks of Apply; a part that a row does not have is left out."""
    found = Replies({}, {})
    for task in tasks:
        if task.level != "apply":
            continue
        replies = found.texts.setdefault(task.system, {})
        for _, row in read_sample_rows(task.samples, _RepliesRow, NEEDS):
            item = str(row.doc.id), str(row.doc.question_id)
            prompts = [request.arg_0 for request in row.arguments.values() if isinstance(request.arg_0, str)]
            if prompts:
                found.prompts.setdefault(item, prompts[0])
            answers = row.resps[0] if row.resps and isinstance(row.resps[0], list) else row.resps
            replies[item] = tuple(dict.fromkeys(text for text in answers if isinstance(text, str)))
    return found
