"""What a system said of some clips, as the sample files have it, and how two texts differ word by word."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import jiwer

from speechiq.reducer.read.results_file import TaskRun
from speechiq.reducer.read.samples import read_rows


class Answer(NamedTuple):
    """An answer to one question.

    Attributes:
        question: As it was asked, with what counts as right.
        answer: The vote and the letters it comes from, `B (BBABB)`; of another template, its text.
    """

    question: str
    answer: str


class Said(NamedTuple):
    """What one system said of one clip; what its rows do not tell is empty.

    Attributes:
        reference: What was said in the clip.
        text: What the system wrote down.
        answers: question id -> its answer.
    """

    reference: str
    text: str
    answers: dict[str, Answer]


def read_said(tasks: Iterable[TaskRun], clips: Collection[str]) -> dict[str, Said]:
    """Reads what a system said of some clips.

    Args:
        tasks: The system's.
        clips: Ids.

    Returns:
        clip -> what was said, for every one of `clips`.

    Raises:
        SpeechIQError: A sample file cannot be read.
    """
    said = {clip: Said("", "", {}) for clip in clips}
    for task in tasks:
        if task.level != "understand":
            for _, row in read_rows(task.samples):
                doc = row["doc"]
                clip = str(doc["id"])
                if clip in said:
                    said[clip] = _add(said[clip], task.level, doc, row.get("filtered_resps"))
    return said


def differing(one: str, other: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """The words of two texts in order, each with whether the other text lacks it there.

    Words are aligned by jiwer; capitals and punctuation do not count.

    >>> differing("So, it goes on.", "so it went on and on")[0]
    [('So,', False), ('it', False), ('goes', True), ('on.', False)]
    """
    words = one.split(), other.split()
    aligned = jiwer.process_words(*(" ".join(map(_key, of)) for of in words)).alignments[0]
    same = [chunk for chunk in aligned if chunk.type == "equal"]
    kept = (
        {i for chunk in same for i in range(chunk.ref_start_idx, chunk.ref_end_idx)},
        {i for chunk in same for i in range(chunk.hyp_start_idx, chunk.hyp_end_idx)},
    )
    first, second = ([(word, i not in here) for i, word in enumerate(of)] for of, here in zip(words, kept, strict=True))
    return first, second


def _add(said: Said, level: str, doc: Mapping[str, Any], given: Any) -> Said:
    said = said._replace(reference=said.reference or str(doc.get("text", "")))
    if level == "remember":
        return said._replace(text=_text(given))
    return said._replace(
        answers=said.answers | {str(doc.get("question_id", "")): Answer(_question(doc), _letters(given))}
    )


def _text(given: Any) -> str:
    """The first text: lists are what filters made of it."""
    while isinstance(given, list):
        given = given[0] if given else ""
    return given if isinstance(given, str) else ""


def _letters(given: Any) -> str:
    match given:
        case [[str(vote), [*letters]], *_]:
            return f"{vote} ({''.join(letter for letter in letters if isinstance(letter, str))})"
    return _text(given)


def _question(doc: Mapping[str, Any]) -> str:
    right, options = str(doc.get("answer", "")), doc.get("options")
    texts = dict(zip("ABCDE", map(str, options), strict=False)) if isinstance(options, list) else {}
    return f"{doc.get('question', '')} Right: {right} {texts.get(right, '')}".strip()


def _key(word: str) -> str:
    return "".join(char for char in word.casefold() if char.isalnum()) or word
