"""What a system said of some clips, as the sample files have it, and how two texts differ word by word."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import jiwer

from speechiq.reducer.read.results_file import TaskRun
from speechiq.reducer.read.rows import AnyDoc, TextRow, read_rows


class Answer(NamedTuple):
    """An answer to one question.

    Attributes:
        question: As it was asked, with what counts as right.
        answer: The vote and the letters it comes from, `B (BBABB)`; of another template, its text.
    """

    question: str
    answer: str


class ClipTexts(NamedTuple):
    """What one system said of one clip; what its rows do not tell is empty.

    Attributes:
        reference: What was said in the clip.
        text: What the system wrote down.
        answers: question id -> its answer.
    """

    reference: str
    text: str
    answers: dict[str, Answer]


def read_texts(tasks: Iterable[TaskRun], clips: Collection[str]) -> dict[str, ClipTexts]:
    """Reads what a system said of some clips.

    Args:
        tasks: The system's. Those whose items are clips give its texts, the others its answers.
        clips: Ids.

    Returns:
        clip -> what was said, for every one of `clips`.

    Raises:
        SpeechIQError: A sample file cannot be read.
    """
    said = {clip: ClipTexts("", "", {}) for clip in clips}
    for task in tasks if said else ():
        for row in read_rows(task.samples, TextRow):
            if (clip := str(row.doc.id)) in said:
                said[clip] = _add(said[clip], row, is_text=len(task.category.item) == 1)
    return said


def differing(one: str, other: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """The words of two texts in order, each with whether the other text lacks it there.

    Words are aligned by jiwer; capitals and punctuation do not count.

    >>> differing("So, it goes on.", "so it went on and on")[0]
    [('So,', False), ('it', False), ('goes', True), ('on.', False)]
    """
    words = one.split(), other.split()
    reference, hypothesis = (" ".join(map(_key, of)) for of in words)
    aligned = jiwer.process_words(reference, hypothesis).alignments[0]
    same = [chunk for chunk in aligned if chunk.type == "equal"]
    kept = (
        {i for chunk in same for i in range(chunk.ref_start_idx, chunk.ref_end_idx)},
        {i for chunk in same for i in range(chunk.hyp_start_idx, chunk.hyp_end_idx)},
    )
    first, second = ([(word, i not in here) for i, word in enumerate(of)] for of, here in zip(words, kept, strict=True))
    return first, second


def _add(said: ClipTexts, row: TextRow, is_text: bool) -> ClipTexts:
    said = said._replace(reference=said.reference or str(row.doc.text))
    if is_text:
        return said._replace(text=_text(row))
    return said._replace(answers=said.answers | {str(row.doc.question_id): Answer(_question(row.doc), _letters(row))})


def _text(row: TextRow) -> str:
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
