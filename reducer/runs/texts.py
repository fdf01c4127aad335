"""Read from sample files what systems wrote: transcripts, answers and votes, and the length of references."""

import hashlib
import json
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import jiwer
import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import locate_line
from speechiq.metrics.letters.options import LETTERS, NONE_OF_THE_ABOVE
from speechiq.metrics.words.normalizer import DEFAULT, normalize
from speechiq.reducer.runs.judged import read_stored
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import (
    Doc,
    Name,
    TextRow,
    read_sample_rows,
    read_text_rows,
    show_item,
)
from speechiq.reducer.runs.table import Item
from speechiq.reducer.runs.tasks import name_control

LETTER_OF_NONE = LETTERS[-1]
NEEDS = "id, question_id, question, options, answer and text of doc, and filtered_resps [[vote, [letter, ...]]]"
Letter = Literal["A", "B", "C", "D", "E", "?"]
#: Error rates by word; those of the suite's rules, and of the basic rules.
OF_WORDS = re.compile(r"(wer|wer_first|wer_oracle|substitutions|deletions|insertions)")
OF_BASIC_WORDS, OF_CHARACTERS = "wer_basic", "cer"


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


class _Vote(msgspec.Struct, array_like=True):
    """Hold the vote and the letters that it comes from; what follows in a row of a run with a reader is left out."""

    vote: Letter
    letters: list[Letter]


class _AnswerRow(msgspec.Struct):
    """Hold a row with its question and answers."""

    doc: _AskedWithClip
    filtered_resps: Annotated[list[_Vote], msgspec.Meta(min_length=1)]


class AnsweredQuestion(NamedTuple):
    """Hold a question of Apply: text, options, right letter, the clip's reference, and its audio's path if known."""

    question: str
    options: tuple[str, ...]
    answer: str
    text: str
    audio: str | None

    @property
    def wording(self) -> str:
        """Return the sha256 of the wording: text, options, and the right letter."""
        return hashlib.sha256(json.dumps(self[:3]).encode()).hexdigest()


class AnswerVote(NamedTuple):
    """Hold a system's answer: the vote, and the letters it comes from; `?` is an answer without a letter."""

    vote: str
    letters: str


class Answers(NamedTuple):
    """Hold the answers of systems to questions; see `keep_shared`.

    Attributes:
        questions: (clip, question) -> each question that a system answered, sorted.
        votes: System -> (clip, question) -> its answer; names sorted.
        controls: Name of each control among the systems -> `gold`, `silence` or `letter:X`.
    """

    questions: dict[Item, AnsweredQuestion]
    votes: dict[str, dict[Item, AnswerVote]]
    controls: dict[str, str]
    warnings: list[str]
    clusters: Mapping[str, str] = MappingProxyType({})


def read_votes(tasks: Iterable[TaskRun]) -> Answers:
    """Read the answers of every system to the questions of some tasks; refuse rows without a vote."""
    questions: dict[Item, AnsweredQuestion] = {}
    votes: dict[str, dict[Item, AnswerVote]] = {}
    controls: dict[str, str] = {}
    clusters: dict[str, str] = {}
    for task in sorted(tasks, key=lambda task: (task.system, task.task)):
        answered = votes.setdefault(task.system, {})
        if control := name_control(task.described):
            controls[task.system] = control
        samples = task.samples
        for number, row in read_sample_rows(samples, _AnswerRow, NEEDS):
            item, doc, voted = _item_of_question(row.doc), row.doc, row.filtered_resps[0]
            if item in answered:
                raise SpeechIQError(
                    locate_line(samples, number),
                    f"{show_item(item)} was already answered by system {task.system!r}",
                    "give only one of the two tasks",
                )
            known = questions.get(item)
            if known is None:
                questions[item] = _question_of(doc)._replace(text=doc.text, audio=_path(doc.audio))
            elif known[:3] != (doc.question, doc.options, doc.answer):
                raise SpeechIQError(
                    locate_line(samples, number),
                    f"{show_item(item)} differs from another system's run in its wording",
                    "run all systems on the same question file",
                )
            if doc.cluster is not None:
                clusters[item[0]] = str(doc.cluster)
            answered[item] = _vote(voted.vote, "".join(voted.letters))
    return Answers(dict(sorted(questions.items())), votes, dict(sorted(controls.items())), [], clusters)


def read_wordings(tasks: Iterable[TaskRun], items: Collection[Item]) -> dict[Item, str]:
    """Return (clip, question) -> the wording (`AnsweredQuestion.wording`), for those of `items` that some task has."""
    docs = (row.doc for task in tasks for _, row in read_sample_rows(task.samples, _AskedRow, NEEDS))
    return {item: _question_of(doc).wording for doc in docs if (item := _item_of_question(doc)) in items}


def _item_of_question(doc: _Asked) -> Item:
    return sys.intern(str(doc.id)), sys.intern(str(doc.question_id))


def _path(audio: Any) -> str | None:
    return str(audio["path"]) if isinstance(audio, Mapping) and "path" in audio else None


def _question_of(doc: _Asked) -> AnsweredQuestion:
    return AnsweredQuestion(doc.question, doc.options, doc.answer, "", None)


_vote = cache(AnswerVote)


def keep_shared(answers: Answers, allow_mismatch: bool) -> Answers:
    """Return the answers to the questions that all systems answered, with a warning of the others.

    Unless that is allowed, or if nothing is left, a question that some system did not answer is refused.
    """
    questions = answers.questions
    shared = set(questions).intersection(*answers.votes.values())
    if len(shared) == len(questions):
        return answers
    if allow_mismatch and shared:
        kept = {item: question for item, question in questions.items() if item in shared}
        votes = {system: {item: answered[item] for item in kept} for system, answered in answers.votes.items()}
        left_out = (
            f"{len(questions) - len(kept)} of {len(questions)} questions are left out: not all systems answered them"
        )
        return answers._replace(questions=kept, votes=votes, warnings=[*answers.warnings, left_out])
    missing = {system: sorted(questions.keys() - answered) for system, answered in answers.votes.items()}
    system, items = next((system, items) for system, items in missing.items() if items)
    option = f", or add --allow-mismatch to use the {len(shared)} that all answered" if shared else ""
    raise SpeechIQError(
        f"system {system!r} did not answer {len(items)} of {len(questions)} questions, such as {show_item(items[0])}",
        fix=f"run all systems on the same tasks with the same --limit{option}",
    )


class Answer(NamedTuple):
    """Hold a question with its right option, and the answer: the vote with its letters, `B (BBABB)`, or a text."""

    question: str
    answer: str


class ClipTexts(NamedTuple):
    """Hold the reference of a clip, a system's transcript, and its answers by question id; empty if no row has it."""

    reference: str
    text: str
    answers: dict[str, Answer]


def read_transcripts(tasks: Iterable[TaskRun], clips: Collection[str]) -> dict[str, ClipTexts]:
    """Return clip -> what one system wrote: transcripts by tasks whose items are clips, answers by the other tasks."""
    texts = {clip: ClipTexts("", "", {}) for clip in clips}
    for task in tasks if texts else ():
        for row in read_text_rows(task.samples):
            if (clip := str(row.doc.id)) in texts:
                texts[clip] = _add(texts[clip], row, is_text=len(task.category.item) == 1)
    return texts


class ClipTranscript(NamedTuple):
    """Hold what a system wrote of a clip, the reference, the rules that normalize both, and the audio of the doc."""

    text: str
    reference: str
    rules: str
    audio: Any

    @property
    def normalized(self) -> tuple[str, str]:
        """Return text and reference as error rates compare them."""
        return normalize(self.text, self.rules), normalize(self.reference, self.rules)


def read_clip_transcripts(tasks: Iterable[TaskRun]) -> dict[str, ClipTranscript]:
    """Return clip -> what one system wrote, over tasks that transcribe."""
    found = {}
    for task in tasks:
        for row in read_text_rows(task.samples):
            rules = str(row.doc.normalizer or DEFAULT)
            found[str(row.doc.id)] = ClipTranscript(response_text(row), str(row.doc.text), rules, row.doc.audio)
    return found


def differing(one: str, other: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Return the words of two texts in order, each with whether it differs from the other text.

    Words are aligned by jiwer; capitals and punctuation do not count.

    >>> differing("So, it goes on.", "so it went on and on")[0]
    [('So,', False), ('it', False), ('goes', True), ('on.', False)]
    """
    words = one.split(), other.split()
    reference, hypothesis = (" ".join(map(_key, text)) for text in words)
    aligned = jiwer.process_words(reference, hypothesis).alignments[0]
    equal = [chunk for chunk in aligned if chunk.type == "equal"]
    in_first = {i for chunk in equal for i in range(chunk.ref_start_idx, chunk.ref_end_idx)}
    in_second = {i for chunk in equal for i in range(chunk.hyp_start_idx, chunk.hyp_end_idx)}
    first, second = words
    return (
        [(word, i not in in_first) for i, word in enumerate(first)],
        [(word, i not in in_second) for i, word in enumerate(second)],
    )


class Written(NamedTuple):
    """Describe what one system wrote about an item.

    The question of an assistant's task is the query; `right` is empty if the doc has no right answer; the text is the
    answer, or for a task that transcribes the transcript.
    """

    question: str
    reference: str
    right: str
    text: str


def read_written(tasks: Iterable[TaskRun]) -> dict[tuple[str, Item], Written]:
    """Return (system, item) -> what the system wrote, over tasks."""
    return {
        (task.system, _item(row.doc, task)): Written(
            question=str(row.doc.question or row.doc.text),
            reference=str(row.doc.text),
            right=_option(row.doc.answer, row.doc),
            text=_option(response_text(row), row.doc),
        )
        for task in tasks
        for row in read_text_rows(task.samples)
    }


def response_text(row: TextRow) -> str:
    """Return the text of a system's response, also of a judged one; empty if the response is no text."""
    if stored := read_stored(row.filtered_resps):
        return stored.answer
    return row.response if isinstance(row.response, str) else ""


def can_pool(column: str) -> bool:
    """Return whether a column is a rate of errors by words or characters of the reference.

    >>> can_pool("wer"), can_pool("llm_semdist_eowl")
    (True, False)
    """
    return column in (OF_BASIC_WORDS, OF_CHARACTERS) or OF_WORDS.fullmatch(column) is not None


def read_lengths(tasks: Iterable[TaskRun], column: str) -> dict[Item, float]:
    """Return clip -> the number of words or characters of its reference that a column counts errors by."""
    lengths: dict[Item, float] = {}
    for task in tasks:
        for row in read_text_rows(task.samples) if column in task.signs else ():
            recorded = row.doc.normalizer or DEFAULT
            text = normalize(str(row.doc.text), "basic" if column == OF_BASIC_WORDS else str(recorded))
            lengths[(str(row.doc.id),)] = float(len(text) if column == OF_CHARACTERS else len(text.split()))
    return lengths


def _add(texts: ClipTexts, row: TextRow, is_text: bool) -> ClipTexts:
    texts = texts._replace(reference=texts.reference or str(row.doc.text or row.doc.answer))
    if is_text:
        return texts._replace(text=response_text(row))
    answer = Answer(_question(row.doc), _letters(row))
    return texts._replace(answers=texts.answers | {str(row.doc.question_id): answer})


def _letters(row: TextRow) -> str:
    match row.filtered_resps:
        case [[str(vote), [*letters]], *_]:
            return f"{vote} ({''.join(letter for letter in letters if isinstance(letter, str))})"
    return response_text(row)


def _question(doc: Doc) -> str:
    right = str(doc.answer)
    texts = dict(zip("ABCDE", map(str, doc.options), strict=False)) if isinstance(doc.options, list) else {}
    return f"{doc.question} Right: {right} {texts.get(right, '')}".strip()


def _key(word: str) -> str:
    return "".join(char for char in word.casefold() if char.isalnum()) or word


def _item(doc: Doc, task: TaskRun) -> Item:
    fields = {"id": doc.id, "question_id": doc.question_id}
    return tuple(str(fields.get(field, "")) for field in task.category.item)


def _option(answer: Any, doc: Doc) -> str:
    """Return an answer as text; of a letter, the option."""
    if not isinstance(answer, str):
        return ""
    options = [*map(str, doc.options), NONE_OF_THE_ABOVE] if isinstance(doc.options, list) else []
    return dict(zip(LETTERS, options, strict=False)).get(answer, answer)
