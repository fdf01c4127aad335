"""Give the texts and answers of the clips in parts, so that a page reads only those that it shows."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from speechiq.reducer.report.clips import ClipView
from speechiq.reducer.report.study import Study
from speechiq.reducer.runs.samples import Item
from speechiq.reducer.runs.texts import Answers

#: Bytes of JSON from which a part ends: a browser unpacks it in some ten milliseconds.
PART = 1_000_000
#: Characters of clips, texts and comparisons above which they lie beside the page, which would have about 50 MB.
LARGEST = 48_000_000


def divide_texts(study: Study, names: Sequence[str]) -> Iterator[list[bytes]]:
    """Yield the clips of each part, as JSON; the lists in a clip have an entry per system.

    A clip has `text`, `words`, `written` (the distinct transcripts, each with its steps from `words`), `by` (number of
    the system's transcript, null if it has none), `coverage`, `repetition` and `questions` (`id`, `text`, `options`,
    `answer`, and `votes`: the vote and then the letters). Systems are in the order of `names`.
    """
    items: dict[str, list[Item]] = {}
    for item in study.answers.questions:
        items.setdefault(item[0], []).append(item)
    part: list[bytes] = []
    for clip in study.clips:
        questions = [_describe(study.answers, item, names) for item in items.get(clip.id, [])]
        part.append(msgspec.json.encode(_list_texts(clip, names) | {"questions": questions}))
        if sum(map(len, part)) >= PART:
            yield part
            part = []
    if part:
        yield part


def _list_texts(clip: ClipView, names: Sequence[str]) -> dict[str, Any]:
    transcripts = [clip.transcripts.get(name) for name in names]
    steps = {transcript.text: msgspec.Raw(transcript.steps) for transcript in transcripts if transcript}
    numbers = {text: number for number, text in enumerate(steps)}
    return {
        "text": clip.text,
        "words": clip.words,
        "written": [*steps.items()],
        "by": [transcript and numbers[transcript.text] for transcript in transcripts],
        "coverage": [transcript and round(transcript.coverage, 3) for transcript in transcripts],
        "repetition": [transcript and round(transcript.repetition, 3) for transcript in transcripts],
    }


def _describe(answers: Answers, item: Item, names: Sequence[str]) -> dict[str, Any]:
    """Return a question with the answers of each system."""
    question = answers.questions[item]
    return {
        "id": item[1],
        "text": question.question,
        "options": question.options,
        "answer": question.answer,
        "votes": ["".join(answers.votes[name][item]) for name in names],
    }
