"""Read what a system wrote about some clips from the sample files, and mark how two texts differ word by word."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import jiwer

from speechiq.reducer.runs.judged import read_stored
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import AnyDoc, TextRow, read_rows


class Answer(NamedTuple):
    """An answer to one question.

    Attributes:
        question: The question with its right answer.
        answer: The vote and the letters it comes from, `B (BBABB)`; of another template, its text.
    """

    question: str
    answer: str


class ClipTexts(NamedTuple):
    """The texts of one system on one clip; a text that no row has is empty.

    Attributes:
        reference: The clip's reference.
        text: The system's transcript.
        answers: Question id -> its answer.
    """

    reference: str
    text: str
    answers: dict[str, Answer]


def read_texts(tasks: Iterable[TaskRun], clips: Collection[str]) -> dict[str, ClipTexts]:
    """Read the transcripts and answers of one system on some clips.

    Args:
        tasks: The system's. Those whose items are clips give its transcripts, the others its answers.
        clips: Ids of the clips.

    Returns:
        Clip -> its texts, for each of `clips`.

    Raises:
        SpeechIQError: A sample file cannot be read.
    """
    texts = {clip: ClipTexts("", "", {}) for clip in clips}
    for task in tasks if texts else ():
        for row in read_rows(task.samples, TextRow):
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


def _question(doc: AnyDoc) -> str:
    right = str(doc.answer)
    texts = dict(zip("ABCDE", map(str, doc.options), strict=False)) if isinstance(doc.options, list) else {}
    return f"{doc.question} Right: {right} {texts.get(right, '')}".strip()


def _key(word: str) -> str:
    return "".join(char for char in word.casefold() if char.isalnum()) or word
