"""Read the answers of every system at the level Apply, question by question, from lm-eval's sample files."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.read.results_file import TaskRun
from speechiq.reducer.read.runs import find_tasks, name_control
from speechiq.reducer.read.samples import Item, read_records, show_item
from speechiq.reducer.siq.levels import SUITE

LETTERS = "ABCDE"
NONE_OF_THE_ABOVE = LETTERS[-1]
UNPARSED = "?"
WANTED = "id, question_id, question, options, answer and text of doc, and filtered_resps [[vote, [letter, ...]]]"

_Letter = Literal["A", "B", "C", "D", "E", "?"]
_Name = str | int | float


class _Asked(msgspec.Struct):
    """The parts of a doc that identify a question."""

    id: _Name
    question_id: _Name
    question: str
    options: tuple[str, ...]
    answer: str

    @property
    def item(self) -> Item:
        return sys.intern(str(self.id)), sys.intern(str(self.question_id))


class _Doc(_Asked):
    text: str
    audio: Any = None


class _AskedRow(msgspec.Struct):
    doc: _Asked


class _Row(msgspec.Struct):
    doc: _Doc
    filtered_resps: Annotated[list[tuple[_Letter, list[_Letter]]], msgspec.Meta(min_length=1)]


_ROW, _ASKED_ROW = map(msgspec.json.Decoder, (_Row, _AskedRow))


class Question(NamedTuple):
    """A question as it was asked.

    Attributes:
        question: Its text.
        options: Texts of (A) to (D).
        answer: The letter that counts as right.
        text: The clip's reference.
        audio: Where the clip lies, as its run has it; None where the run does not say.
    """

    question: str
    options: tuple[str, ...]
    answer: str
    text: str
    audio: str | None

    @property
    def asked(self) -> str:
        """The sha256 of what makes it this question: text, options, and the right letter."""
        return hashlib.sha256(json.dumps(self[:3]).encode()).hexdigest()


class Vote(NamedTuple):
    """A system's answer: the majority of its letters, and the letters; `?` is an answer without one."""

    vote: str
    letters: str


class Answers(NamedTuple):
    """All systems' answers to the same questions.

    Attributes:
        questions: (clip, question) -> the question, sorted.
        votes: system -> (clip, question) -> its answer; names sorted.
        controls: The systems among them that are no speech systems -> `gold`, `silence` or `letter:X`.
        warnings: One line for every choice made between runs.
    """

    questions: dict[Item, Question]
    votes: dict[str, dict[Item, Vote]]
    controls: dict[str, str]
    warnings: list[str]


def read_answers(runs: Iterable[Path], allow_missing: bool = False) -> Answers:
    """Read the Apply answers of every system below some folders, the newest run of each task.

    Args:
        runs: Folders (any depth) or results files.
        allow_missing: As for `find_tasks`.

    Raises:
        SpeechIQError: No Apply task, a row without a vote, a question asked in two wordings, or systems that were
            not asked the same questions.
    """
    tasks, warnings = find_tasks(runs, allow_missing)
    tasks = sorted(
        (task for task in tasks if task.suite == SUITE and task.level == "apply"),
        key=lambda task: (task.system, task.task),
    )
    if not tasks:
        raise SpeechIQError("no system in these runs has an Apply task: give runs of siq_apply or of a whole set")
    questions: dict[Item, Question] = {}
    votes: dict[str, dict[Item, Vote]] = {}
    for task in tasks:
        _read_task(task, questions, votes.setdefault(task.system, {}))
    _refuse_gaps(questions, votes)
    controls = {task.system: control for task in tasks if (control := name_control(task.described))}
    return Answers(dict(sorted(questions.items())), votes, controls, warnings)


def read_asked(tasks: Iterable[TaskRun], items: Collection[Item]) -> dict[Item, str]:
    """Return the texts of questions in tasks: (clip, question) -> `Question.asked`, without those that no task has.

    Raises:
        SpeechIQError: A sample file cannot be read, or a row of it does not name its question.
    """
    apply = (task for task in tasks if task.level == "apply")
    docs = (row.doc for task in apply for _, row in read_records(task.samples, _ASKED_ROW, WANTED))
    return {doc.item: _question(doc).asked for doc in docs if doc.item in items}


def _read_task(task: TaskRun, questions: dict[Item, Question], votes: dict[Item, Vote]) -> None:
    for where, row in read_records(task.samples, _ROW, WANTED):
        item, question, (voted, letters) = row.doc.item, _question(row.doc), row.filtered_resps[0]
        question = question._replace(text=row.doc.text, audio=_path(row.doc.audio))
        if item in votes:
            raise SpeechIQError(
                f"{where}: {show_item(item)} was already answered by system {task.system!r}; "
                "give only one of the two tasks"
            )
        if questions.setdefault(item, question)[:3] != question[:3]:
            raise SpeechIQError(
                f"{where}: {show_item(item)} reads otherwise here than in another system's run; "
                "run all systems on the same question file"
            )
        votes[item] = _vote(voted, "".join(letters))


def _path(audio: Any) -> str | None:
    return str(audio["path"]) if isinstance(audio, Mapping) and "path" in audio else None


def _question(doc: _Asked) -> Question:
    return Question(doc.question, doc.options, doc.answer, "", None)


_vote = cache(Vote)


def _refuse_gaps(questions: Mapping[Item, Question], votes: Mapping[str, Mapping[Item, Vote]]) -> None:
    for system, answered in votes.items():
        if lacking := sorted(questions.keys() - answered.keys()):
            raise SpeechIQError(
                f"system {system!r} did not answer {len(lacking)} of {len(questions)} questions, such as "
                f"{show_item(lacking[0])}; run all systems on the same tasks with the same --limit"
            )
