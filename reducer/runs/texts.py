"""Read texts from sample files: what systems wrote about clips and questions, and the length of references."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import jiwer

from speechiq.metrics.letters.options import LETTERS
from speechiq.metrics.words.normalizer import DEFAULT, normalize
from speechiq.reducer.runs import rows
from speechiq.reducer.runs.judged import read_stored
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import Doc, Item, TextRow

NONE_OF_THE_ABOVE = "None of the above"
#: Error rates by word; those of the suite's rules, and of the basic rules.
OF_WORDS = re.compile(r"(wer|wer_first|wer_oracle|substitutions|deletions|insertions)")
OF_BASIC_WORDS, OF_CHARACTERS = "wer_basic", "cer"


class Answer(NamedTuple):
    """Hold a question with its right option, and the answer: the vote with its letters, `B (BBABB)`, or a text."""

    question: str
    answer: str


class ClipTexts(NamedTuple):
    """Hold the reference of a clip, a system's transcript, and its answers by question id; empty if no row has it."""

    reference: str
    text: str
    answers: dict[str, Answer]


def read_texts(tasks: Iterable[TaskRun], clips: Collection[str]) -> dict[str, ClipTexts]:
    """Return clip -> what one system wrote: transcripts by tasks whose items are clips, answers by the other tasks."""
    texts = {clip: ClipTexts("", "", {}) for clip in clips}
    for task in tasks if texts else ():
        for row in rows.read_texts(task.samples):
            if (clip := str(row.doc.id)) in texts:
                texts[clip] = _add(texts[clip], row, is_text=len(task.category.item) == 1)
    return texts


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
    shared = (
        {i for chunk in equal for i in range(chunk.ref_start_idx, chunk.ref_end_idx)},
        {i for chunk in equal for i in range(chunk.hyp_start_idx, chunk.hyp_end_idx)},
    )
    first, second = (
        [(word, i not in kept) for i, word in enumerate(text)] for text, kept in zip(words, shared, strict=True)
    )
    return first, second


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
            str(row.doc.question or row.doc.text), str(row.doc.text), _option(row.doc.answer, row.doc), show_answer(row)
        )
        for task in tasks
        for row in rows.read_texts(task.samples)
    }


def show_answer(row: TextRow) -> str:
    """Return a response as text: a letter as its option, and the answer out of a judged response."""
    response = row.response
    if isinstance(response, Mapping):
        response = response.get("answer", "")
    return _option(response, row.doc)


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
        for row in rows.read_texts(task.samples) if column in task.signs else ():
            recorded = row.doc.normalizer or DEFAULT
            text = normalize(str(row.doc.text), "basic" if column == OF_BASIC_WORDS else str(recorded))
            lengths[(str(row.doc.id),)] = float(len(text) if column == OF_CHARACTERS else len(text.split()))
    return lengths


def _add(texts: ClipTexts, row: TextRow, is_text: bool) -> ClipTexts:
    texts = texts._replace(reference=texts.reference or str(row.doc.text or row.doc.answer))
    if is_text:
        return texts._replace(text=_text(row))
    answer = Answer(_question(row.doc), _letters(row))
    return texts._replace(answers=texts.answers | {str(row.doc.question_id): answer})


def _text(row: TextRow) -> str:
    if stored := read_stored(row.filtered_resps):
        return stored.answer
    return row.response if isinstance(row.response, str) else ""


def _letters(row: TextRow) -> str:
    match row.filtered_resps:
        case [[str(vote), [*letters]], *_]:
            return f"{vote} ({''.join(letter for letter in letters if isinstance(letter, str))})"
    return _text(row)


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
