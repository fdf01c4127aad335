"""Read the clips and the transcripts of every system from the sample files of lm-eval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from speechiq.core.progress import progress_bar
from speechiq.metrics.words.normalizer import DEFAULT, RULES, normalize
from speechiq.reducer.report.diff import Ops, compare
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import Doc, read_texts
from speechiq.reducer.scores.levels import LEVELS


class Transcript(NamedTuple):
    """One system's transcript of one clip.

    Attributes:
        text: As the system wrote it.
        ops: Its steps from the reference, both normalized (`diff.compare`).
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
    steps = dict(zip(distinct, compare(words, [normalize(written, rules) for written in distinct]), strict=True))
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
