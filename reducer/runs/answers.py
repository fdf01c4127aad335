"""Read the answers of every system at the level Apply, question by question, from lm-eval's sample files."""

import hashlib
import json
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.letters.options import LETTERS
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import Item, Name, locate, read_rows, show_item
from speechiq.reducer.runs.tasks import name_control

NONE_OF_THE_ABOVE = LETTERS[-1]
NEEDS = "id, question_id, question, options, answer and text of doc, and filtered_resps [[vote, [letter, ...]]]"
Letter = Literal["A", "B", "C", "D", "E", "?"]


class _Asked(msgspec.Struct):
    """Hold the parts of a doc that identify a question."""

    id: Name
    question_id: Name
    question: str
    options: tuple[str, ...]
    answer: str


class _AskedWithClip(_Asked):
    """Hold a question and its clip's reference text and audio."""

    text: str
    audio: Any = None
    cluster: Name | None = None


class _AskedRow(msgspec.Struct):
    """Hold a row with its question."""

    doc: _Asked


class _AnswerRow(msgspec.Struct):
    """Hold a row with its question and answers."""

    doc: _AskedWithClip
    filtered_resps: Annotated[list[tuple[Letter, list[Letter]]], msgspec.Meta(min_length=1)]


class AnsweredQuestion(NamedTuple):
    """Hold a question of Apply: text, options, right letter, the clip's reference, and its audio's path if known."""

    question: str
    options: tuple[str, ...]
    answer: str
    text: str
    audio: str | None

    @property
    def asked(self) -> str:
        """Return the sha256 of the wording: text, options, and the right letter."""
        return hashlib.sha256(json.dumps(self[:3]).encode()).hexdigest()


class AnswerVote(NamedTuple):
    """Hold a system's answer: the vote, and the letters it comes from; `?` is an answer without a letter."""

    vote: str
    letters: str


class Answers(NamedTuple):
    """Hold all systems' answers to the same questions.

    Attributes:
        questions: (clip, question) -> the question, sorted.
        votes: System -> (clip, question) -> its answer; names sorted.
        controls: Name of each control among the systems -> `gold`, `silence` or `letter:X`.
    """

    questions: dict[Item, AnsweredQuestion]
    votes: dict[str, dict[Item, AnswerVote]]
    controls: dict[str, str]
    warnings: list[str]
    clusters: Mapping[str, str] = MappingProxyType({})


def read_answers(tasks: Iterable[TaskRun]) -> Answers:
    """Read the answers of every system to the questions of some tasks; refuse rows without a vote."""
    questions: dict[Item, AnsweredQuestion] = {}
    votes: dict[str, dict[Item, AnswerVote]] = {}
    controls: dict[str, str] = {}
    clusters: dict[str, str] = {}
    for task in sorted(tasks, key=lambda task: (task.system, task.task)):
        answered = votes.setdefault(task.system, {})
        if control := name_control(task.described):
            controls[task.system] = control
        for number, row in read_rows(task.samples, _AnswerRow, NEEDS):
            item, (letter, letters), where = _item(row.doc), row.filtered_resps[0], locate(task.samples, number)
            question = _question(row.doc)._replace(text=row.doc.text, audio=_path(row.doc.audio))
            if item in answered:
                raise SpeechIQError(
                    where,
                    f"{show_item(item)} was already answered by system {task.system!r}",
                    "give only one of the two tasks",
                )
            if questions.setdefault(item, question)[:3] != question[:3]:
                raise SpeechIQError(
                    where,
                    f"{show_item(item)} differs from another system's run in its wording",
                    "run all systems on the same question file",
                )
            if row.doc.cluster is not None:
                clusters[item[0]] = str(row.doc.cluster)
            answered[item] = _vote(letter, "".join(letters))
    _refuse_gaps(questions, votes)
    return Answers(dict(sorted(questions.items())), votes, dict(sorted(controls.items())), [], clusters)


def read_asked(tasks: Iterable[TaskRun], items: Collection[Item]) -> dict[Item, str]:
    """Return (clip, question) -> the wording (`AnsweredQuestion.asked`), for those of `items` that some task has."""
    docs = (row.doc for task in tasks for _, row in read_rows(task.samples, _AskedRow, NEEDS))
    return {item: _question(doc).asked for doc in docs if (item := _item(doc)) in items}


def _item(doc: _Asked) -> Item:
    return sys.intern(str(doc.id)), sys.intern(str(doc.question_id))


def _path(audio: Any) -> str | None:
    return str(audio["path"]) if isinstance(audio, Mapping) and "path" in audio else None


def _question(doc: _Asked) -> AnsweredQuestion:
    return AnsweredQuestion(doc.question, doc.options, doc.answer, "", None)


_vote = cache(AnswerVote)


def _refuse_gaps(questions: Mapping[Item, AnsweredQuestion], votes: Mapping[str, Mapping[Item, AnswerVote]]) -> None:
    for system, answered in votes.items():
        if missing := sorted(questions.keys() - answered.keys()):
            raise SpeechIQError(
                f"system {system!r} did not answer {len(missing)} of {len(questions)} questions, such as "
                f"{show_item(missing[0])}",
                fix="run all systems on the same tasks with the same --limit",
            )
