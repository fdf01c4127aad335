"""Read the clips and the transcripts of every system, aligned with the references word by word.

Both texts are normalized with the task's rules before they are aligned, so the marks are the errors that `wer` counts:
none for "2,000" against "two thousand", one for each wrong word.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import jiwer

from speechiq.core.progress import progress_bar
from speechiq.metrics.words.normalizer import DEFAULT, RULES, normalize
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import Doc, read_texts
from speechiq.reducer.scores.levels import LEVELS

Ops = list[int | str]


class Edit(NamedTuple):
    """One place at which a text differs from the reference.

    Attributes:
        start: Number of the first word of the reference that differs, from 0.
        dropped: How many words of the reference are missing from there on.
        written: The words written instead; may be empty.
    """

    start: int
    dropped: int
    written: str


class Transcript(NamedTuple):
    """One system's transcript of one clip.

    Attributes:
        text: As the system wrote it.
        ops: Its steps from the reference, both normalized (`align`).
        coverage: Audio coverage: seconds that the system received / seconds of the clip; NaN if the run does not say.
        repetition: The metric of that name; NaN if the run does not say.
    """

    text: str
    ops: Ops
    coverage: float
    repetition: float


class _Written(NamedTuple):
    """The fields of `Transcript` that a sample row has."""

    text: str
    coverage: float
    repetition: float


class Clip(NamedTuple):
    """One clip.

    Attributes:
        id: As in the pool.
        dataset: Name of its data set.
        audio: Path and span of its audio, as in a doc.
        text: The reference.
        words: The normalized reference; `Transcript.ops` count its words.
        transcripts: System -> its transcript; empty if no run has the level Remember.
    """

    id: str
    dataset: str
    audio: Mapping[str, Any]
    text: str
    words: str
    transcripts: dict[str, Transcript]

    @property
    def seconds(self) -> float:
        """Return the length; NaN if the doc does not say."""
        return number(self.audio.get("duration"))


def read_clips(tasks: Sequence[TaskRun]) -> list[Clip]:
    """Read the clips of some tasks, sorted by id; fields that a row does not have stay empty.

    The rows of Remember have the texts. Without them the clips come from the next level that was run.

    Args:
        tasks: The newest run of each task; of equal clips the first task's doc counts.
    """
    level = min((task.level for task in tasks), key=[*LEVELS].index)
    docs: dict[str, Doc] = {}
    written: dict[str, dict[str, _Written]] = {}
    for task in tasks:
        for row in read_texts(task.samples) if task.level == level else ():
            clip = str(row.doc.id)
            docs.setdefault(clip, row.doc)
            if level == "remember":
                text = _Written(str(row.response), number(row.audio_coverage), number(row.repetition))
                written.setdefault(clip, {})[task.system] = text
    names = progress_bar(sorted(docs), total=len(docs), verb="comparing texts", unit="clip")
    return [_clip(name, docs[name], written.get(name, {})) for name in names]


def number(value: Any) -> float:
    """Return a number of a row; NaN for any other value.

    >>> number(2), number("2")
    (2.0, nan)
    """
    return float(value) if isinstance(value, int | float) else math.nan


def _clip(name: str, doc: Doc, rows: Mapping[str, _Written]) -> Clip:
    text = str(doc.text)
    rules = doc.normalizer if doc.normalizer in RULES else DEFAULT
    words = normalize(text, rules)
    distinct = list(dict.fromkeys(row.text for row in rows.values()))
    steps = dict(zip(distinct, align(words, [normalize(written, rules) for written in distinct]), strict=True))
    return Clip(
        id=name,
        dataset=str(doc.dataset),
        audio=doc.audio if isinstance(doc.audio, Mapping) else {},
        text=text,
        words=words,
        transcripts={
            system: Transcript(row.text, steps[row.text], row.coverage, row.repetition) for system, row in rows.items()
        },
    )


def align(reference: str, texts: Sequence[str]) -> list[Ops]:
    """Align normalized texts with a normalized reference.

    Returns:
        For each text its steps: `n` equal words, `-n` missing words of the reference, or the words written instead.

    >>> align("a quick brown fox", ["a quick red fox jumps", "fox", ""])
    [[2, -1, 'red', 1, 'jumps'], [-3, 1], [-4]]
    """
    if not texts:
        return []
    aligned = jiwer.process_words([reference] * len(texts), list(texts))
    return [
        [
            step
            for same, chunks in groupby(of, key=lambda chunk: chunk.type == "equal")
            for step in _steps(same, chunks, to)
        ]
        for of, to in zip(aligned.alignments, aligned.hypotheses, strict=True)
    ]


def edits(ops: Ops) -> Iterator[Edit]:
    """Yield the places at which a text differs from the reference.

    >>> list(edits([2, -1, "red", 1, "jumps"]))
    [Edit(start=2, dropped=1, written='red'), Edit(start=4, dropped=0, written='jumps')]
    """
    at = 0
    for same, group in groupby(ops, key=lambda step: isinstance(step, int) and step > 0):
        steps = list(group)
        numbers = [abs(step) for step in steps if isinstance(step, int)]
        if not same:
            yield Edit(at, sum(numbers), " ".join(step for step in steps if isinstance(step, str)))
        at += sum(numbers)


def _steps(same: bool, chunks: Iterator[jiwer.AlignmentChunk], words: list[str]) -> Iterator[int | str]:
    run = list(chunks)
    count = run[-1].ref_end_idx - run[0].ref_start_idx
    if count:
        yield count if same else -count
    if not same and (written := words[run[0].hyp_start_idx : run[-1].hyp_end_idx]):
        yield " ".join(written)
