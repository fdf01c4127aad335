"""The clips and what every system wrote of them, from the sample files of lm-eval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.progress import progress_bar
from speechiq.metrics.normalizer import DEFAULT, RULES, normalize
from speechiq.reducer.read.results_file import TaskRun
from speechiq.reducer.read.rows import AnyDoc, Pick, TextRow, read_row
from speechiq.reducer.show.report.diff import Ops, compare
from speechiq.reducer.siq.levels import LEVELS


class Transcript(NamedTuple):
    """What one system wrote of one clip.

    Attributes:
        text: As it came.
        ops: Its steps from the reference, both normalized (`diff.compare`).
        share: Seconds it was fed / seconds in the clip; NaN where the run does not say.
        loop: The metric of that name; NaN where the run does not say.
    """

    text: str
    ops: Ops
    share: float
    loop: float


class _Written(NamedTuple):
    """The fields of `Heard` that its row has."""

    text: str
    share: float
    loop: float


class Clip(NamedTuple):
    """One clip.

    Attributes:
        id: As in the pool.
        dataset: The set it is from.
        audio: The reference to its sound, as a doc has it.
        text: The reference.
        words: The reference normalized, which `Transcript.ops` count in.
        transcripts: system -> what it wrote; empty if no run has the level Remember.
    """

    id: str
    dataset: str
    audio: Mapping[str, Any]
    text: str
    words: str
    transcripts: dict[str, Transcript]

    @property
    def seconds(self) -> float:
        return number(self.audio.get("duration"))


class ClipReader:
    """Reads clips, one task after the other.

    The rows of Remember hold the texts. Without them the clips come from the next level that there is.
    """

    def __init__(self, tasks: Iterable[TaskRun]) -> None:
        """Prepare to read some of `tasks`, the newest run of each task; the doc that comes first there counts."""
        self._tasks = list(tasks)
        self.level = min((task.level for task in self._tasks), key=[*LEVELS].index)
        self._docs: dict[str, tuple[int, AnyDoc]] = {}
        self._rows: dict[str, dict[int, _Written]] = {}

    def open(self, task: TaskRun) -> Pick:
        """Return what takes the lines of a task's sample file."""
        return partial(self._add, self._tasks.index(task), task.samples)

    def clips(self) -> list[Clip]:
        """Return every clip that was read, sorted by id; a row of another template gives what it has."""
        names = progress_bar(sorted(self._docs), total=len(self._docs), verb="comparing texts", unit="clip")
        return [_clip(name, self._docs[name][1], self._written(name)) for name in names]

    def _add(self, place: int, path: Path, line_number: int, line: bytes) -> None:
        row = read_row(TextRow, path, line_number, line)
        clip = str(row.doc.id)
        if place < self._docs.setdefault(clip, (place, row.doc))[0]:
            self._docs[clip] = place, row.doc
        if self.level == "remember":
            written = _Written(str(row.response), number(row.coverage), number(row.repeats))
            self._rows.setdefault(clip, {})[place] = written

    def _written(self, clip: str) -> dict[str, _Written]:
        """Return system -> what it wrote, in the order of the tasks."""
        return {self._tasks[place].system: row for place, row in sorted(self._rows.get(clip, {}).items())}


def number(value: Any) -> float:
    """A number of a row, NaN where it is none.

    >>> number(2), number("2")
    (2.0, nan)
    """
    return float(value) if isinstance(value, int | float) else math.nan


def _clip(name: str, doc: AnyDoc, rows: Mapping[str, _Written]) -> Clip:
    text = str(doc.text)
    rules = next((kind for kind in RULES if kind in (doc.normalizer, doc.former_normalizer)), DEFAULT)
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
            system: Transcript(row.text, steps[row.text], row.share, row.loop) for system, row in rows.items()
        },
    )
