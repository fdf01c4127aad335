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
from speechiq.metrics.option_letters import LETTERS
from speechiq.reducer.read.results_file import TaskRun
from speechiq.reducer.read.rows import AnswerRow, Asked, AskedRow, Pick, locate, read_row, read_rows, scan
from speechiq.reducer.read.runs import find_tasks, name_control
from speechiq.reducer.read.samples import Item, show_item
from speechiq.reducer.siq.levels import SUITE

NONE_OF_THE_ABOVE = LETTERS[-1]


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
    reader = AnswerReader()
    for task in tasks:
        scan(task.samples, [reader.open(task)])
    return reader.answers()._replace(warnings=warnings)


class AnswerReader:
    """Reads answers, one task after the other."""

    level = "apply"

    def __init__(self) -> None:
        self._questions: dict[Item, Question] = {}
        self._votes: dict[str, dict[Item, Vote]] = {}
        self._controls: dict[str, str] = {}

    def open(self, task: TaskRun) -> Pick:
        """Return what takes the lines of a task's sample file."""
        votes = self._votes.setdefault(task.system, {})
        if control := name_control(task.described):
            self._controls[task.system] = control
        return partial(self._add, task.system, task.samples, votes)

    def answers(self) -> Answers:
        """Return what was read.

        Raises:
            SpeechIQError: Systems were not asked the same questions.
        """
        _refuse_gaps(self._questions, self._votes)
        questions, votes = dict(sorted(self._questions.items())), dict(sorted(self._votes.items()))
        return Answers(questions, votes, dict(sorted(self._controls.items())), [])

    def _add(self, system: str, path: Path, votes: dict[Item, Vote], number: int, line: bytes) -> None:
        row = read_row(AnswerRow, path, number, line)
        item, (voted, letters) = _item(row.doc), row.filtered_resps[0]
        question = _question(row.doc)._replace(text=row.doc.text, audio=_path(row.doc.audio))
        if item in votes:
            raise SpeechIQError(
                f"{locate(path, number)}: {show_item(item)} was already answered by system {system!r}; "
                "give only one of the two tasks"
            )
        if self._questions.setdefault(item, question)[:3] != question[:3]:
            raise SpeechIQError(
                f"{locate(path, number)}: {show_item(item)} reads otherwise here than in another system's run; "
                "run all systems on the same question file"
            )
        votes[item] = _vote(voted, "".join(letters))


def read_asked(tasks: Iterable[TaskRun], items: Collection[Item]) -> dict[Item, str]:
    """Return the texts of questions in tasks: (clip, question) -> `Question.asked`, without those that no task has.

    Raises:
        SpeechIQError: A sample file cannot be read, or a row of it does not name its question.
    """
    docs = (row.doc for task in tasks if task.level == "apply" for row in read_rows(task.samples, AskedRow))
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
        if lacking := sorted(questions.keys() - answered.keys()):
            raise SpeechIQError(
                f"system {system!r} did not answer {len(lacking)} of {len(questions)} questions, such as "
                f"{show_item(lacking[0])}; run all systems on the same tasks with the same --limit"
            )
