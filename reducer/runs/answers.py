"""Read the answers of every system at the level Apply, question by question, from lm-eval's sample files."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.letters.options import LETTERS
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import AnswerRow, Asked, AskedRow, Pick, locate, read_row, read_rows, scan
from speechiq.reducer.runs.systems import name_control
from speechiq.reducer.runs.samples import Item, show_item

NONE_OF_THE_ABOVE = LETTERS[-1]


class Question(NamedTuple):
    """A question of Apply.

    Attributes:
        question: Its text.
        options: Texts of (A) to (D).
        answer: The letter of the right option.
        text: The clip's reference.
        audio: Path of the clip, as its run recorded it; None if the run does not record it.
    """

    question: str
    options: tuple[str, ...]
    answer: str
    text: str
    audio: str | None

    @property
    def asked(self) -> str:
        """Return the sha256 of the wording: text, options, and the right letter."""
        return hashlib.sha256(json.dumps(self[:3]).encode()).hexdigest()


class Vote(NamedTuple):
    """A system's answer: the vote, and the letters it comes from; `?` is an answer without a letter."""

    vote: str
    letters: str


class Answers(NamedTuple):
    """All systems' answers to the same questions.

    Attributes:
        questions: (clip, question) -> the question, sorted.
        votes: System -> (clip, question) -> its answer; names sorted.
        controls: Name of each control among the systems -> `gold`, `silence` or `letter:X`.
        warnings: One line per choice that was made between runs.
    """

    questions: dict[Item, Question]
    votes: dict[str, dict[Item, Vote]]
    controls: dict[str, str]
    warnings: list[str]


def read_answers(tasks: Iterable[TaskRun]) -> Answers:
    """Read the answers of every system to the questions of some tasks.

    Raises:
        SpeechIQError: A row without a vote, a question with two wordings, or systems with different questions.
    """
    reader = AnswerReader()
    for task in sorted(tasks, key=lambda task: (task.system, task.task)):
        scan(task.samples, [reader.open(task)])
    return reader.answers()


class AnswerReader:
    """Reader of answers, one task after the other."""

    level = "apply"

    def __init__(self) -> None:
        self._questions: dict[Item, Question] = {}
        self._votes: dict[str, dict[Item, Vote]] = {}
        self._controls: dict[str, str] = {}

    def open(self, task: TaskRun) -> Pick:
        """Return the function that takes the lines of a task's sample file; see `Reader`."""
        votes = self._votes.setdefault(task.system, {})
        if control := name_control(task.described):
            self._controls[task.system] = control
        return partial(self._add, task.system, task.samples, votes)

    def answers(self) -> Answers:
        """Return the answers of all tasks.

        Raises:
            SpeechIQError: Systems did not answer the same questions.
        """
        _refuse_gaps(self._questions, self._votes)
        questions, votes = dict(sorted(self._questions.items())), dict(sorted(self._votes.items()))
        return Answers(questions, votes, dict(sorted(self._controls.items())), [])

    def _add(self, system: str, path: Path, votes: dict[Item, Vote], number: int, line: bytes) -> None:
        row = read_row(AnswerRow, path, number, line)
        item, (letter, letters) = _item(row.doc), row.filtered_resps[0]
        question = _question(row.doc)._replace(text=row.doc.text, audio=_path(row.doc.audio))
        if item in votes:
            raise SpeechIQError(
                f"{locate(path, number)}: {show_item(item)} was already answered by system {system!r}; "
                "give only one of the two tasks"
            )
        if self._questions.setdefault(item, question)[:3] != question[:3]:
            raise SpeechIQError(
                f"{locate(path, number)}: {show_item(item)} differs from another system's run in its wording; "
                "run all systems on the same question file"
            )
        votes[item] = _vote(letter, "".join(letters))


def read_asked(tasks: Iterable[TaskRun], items: Collection[Item]) -> dict[Item, str]:
    """Return the wording of questions: (clip, question) -> `Question.asked`, for those that some task has.

    Raises:
        SpeechIQError: A sample file cannot be read, or a row of it does not name its question.
    """
    docs = (row.doc for task in tasks for row in read_rows(task.samples, AskedRow))
    return {item: _question(doc).asked for doc in docs if (item := _item(doc)) in items}


def _item(doc: Asked) -> Item:
    return sys.intern(str(doc.id)), sys.intern(str(doc.question_id))


def _path(audio: Any) -> str | None:
    return str(audio["path"]) if isinstance(audio, Mapping) and "path" in audio else None


def _question(doc: Asked) -> Question:
    return Question(doc.question, doc.options, doc.answer, "", None)


_vote = cache(Vote)


def _refuse_gaps(questions: Mapping[Item, Question], votes: Mapping[str, Mapping[Item, Vote]]) -> None:
    for system, answered in votes.items():
        if missing := sorted(questions.keys() - answered.keys()):
            raise SpeechIQError(
                f"system {system!r} did not answer {len(missing)} of {len(questions)} questions, such as "
                f"{show_item(missing[0])}; run all systems on the same tasks with the same --limit"
            )
