"""Read the clips and the transcripts of every system from the sample files of lm-eval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.progress import progress_bar
from speechiq.metrics.words.normalizer import DEFAULT, RULES, normalize
from speechiq.reducer.report.diff import Ops, compare
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import AnyDoc, Pick, TextRow, read_row
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


class ClipReader:
    """Read clips, one task after the other.

    The rows of Remember have the texts. Without them the clips come from the next level that was run.
    """

    def __init__(self, tasks: Iterable[TaskRun]) -> None:
        """Prepare to read some of `tasks`, the newest run of each task; of equal clips the first task's doc counts."""
        self._tasks = list(tasks)
        self.level = min((task.level for task in self._tasks), key=[*LEVELS].index)
        self._docs: dict[str, tuple[int, AnyDoc]] = {}
        self._rows: dict[str, dict[int, _Written]] = {}

    def open(self, task: TaskRun) -> Pick:
        """Return a function that takes the lines of a task's sample file."""
        return partial(self._add, self._tasks.index(task), task.samples)

    def clips(self) -> list[Clip]:
        """Return every clip that was read, sorted by id; fields that a row does not have stay empty."""
        names = progress_bar(sorted(self._docs), total=len(self._docs), verb="comparing texts", unit="clip")
        return [_clip(name, self._docs[name][1], self._written(name)) for name in names]

    def _add(self, place: int, path: Path, line_number: int, line: bytes) -> None:
        row = read_row(TextRow, path, line_number, line)
        clip = str(row.doc.id)
        if place < self._docs.setdefault(clip, (place, row.doc))[0]:
            self._docs[clip] = place, row.doc
        if self.level == "remember":
            written = _Written(str(row.response), number(row.audio_coverage), number(row.repetition))
            self._rows.setdefault(clip, {})[place] = written

    def _written(self, clip: str) -> dict[str, _Written]:
        """Return system -> its row, in the order of the tasks."""
        return {self._tasks[place].system: row for place, row in sorted(self._rows.get(clip, {}).items())}


def number(value: Any) -> float:
    """Return a number of a row; NaN for any other value.

    >>> number(2), number("2")
    (2.0, nan)
    """
    return float(value) if isinstance(value, int | float) else math.nan


def _clip(name: str, doc: AnyDoc, rows: Mapping[str, _Written]) -> Clip:
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
