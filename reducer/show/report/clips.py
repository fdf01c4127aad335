"""The clips and what every system wrote of them, from the sample files of lm-eval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from speechiq.core.progress import progress_bar
from speechiq.metrics.normaliser import DEFAULT, RULES, normalise
from speechiq.reducer.read.results_file import TaskRun
from speechiq.reducer.read.samples import read_rows
from speechiq.reducer.show.report.diff import Ops, compare
from speechiq.reducer.siq.levels import LEVELS


class Heard(NamedTuple):
    """What one system wrote of one clip.

    Attributes:
        text: As it came.
        ops: Its steps from the reference, both normalised (`diff.compare`).
        share: Seconds it was fed / seconds in the clip; NaN where the run does not say.
        loop: The metric of that name; NaN where the run does not say.
    """

    text: str
    ops: Ops
    share: float
    loop: float


class Clip(NamedTuple):
    """One clip.

    Attributes:
        id: As in the pool.
        dataset: The set it is from.
        audio: The reference to its sound, as a doc has it.
        text: The reference.
        words: The reference normalised, which `Heard.ops` count in.
        heard: system -> what it wrote; empty if no run has the level Remember.
    """

    id: str
    dataset: str
    audio: Mapping[str, Any]
    text: str
    words: str
    heard: dict[str, Heard]

    @property
    def seconds(self) -> float:
        return number(self.audio.get("duration"))


def read_clips(tasks: Iterable[TaskRun]) -> list[Clip]:
    """Return every clip, sorted by id; a row of another template gives what it has.

    The rows of Remember hold the texts. Without them the clips come from the next level that there is.

    Args:
        tasks: The newest run of each task (`runs.find_tasks`).

    Raises:
        SpeechIQError: A sample file cannot be read.
    """
    docs: dict[str, Mapping[str, Any]] = {}
    rows: dict[str, dict[str, Mapping[str, Any]]] = {}
    tasks = sorted(tasks, key=lambda task: [*LEVELS].index(task.level))
    for task in tasks:
        if task.level == tasks[0].level:
            for _, row in read_rows(task.samples):
                clip = str(row["doc"]["id"])
                docs.setdefault(clip, row["doc"])
                if task.level == "remember":
                    rows.setdefault(clip, {})[task.system] = {
                        "text": _text_of(row),
                        "share": number(row.get("heard")),
                        "loop": number(row.get("loop")),
                    }
    names = progress_bar(sorted(docs), total=len(docs), verb="comparing texts", unit="clip")
    return [_clip(name, docs[name], rows.get(name, {})) for name in names]


def number(value: Any) -> float:
    """A number of a row, NaN where it is none.

    >>> number(2), number("2")
    (2.0, nan)
    """
    return float(value) if isinstance(value, int | float) else math.nan


def _clip(name: str, doc: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]]) -> Clip:
    text = str(doc.get("text", ""))
    rules = next((kind for kind in RULES if kind == doc.get("normaliser")), DEFAULT)
    words = normalise(text, rules)
    distinct = list({row["text"]: None for row in rows.values()})
    steps = dict(zip(distinct, compare(words, [normalise(written, rules) for written in distinct]), strict=True))
    audio = doc.get("audio")
    return Clip(
        id=name,
        dataset=str(doc.get("dataset", "")),
        audio=audio if isinstance(audio, Mapping) else {},
        text=text,
        words=words,
        heard={system: Heard(ops=steps[row["text"]], **row) for system, row in rows.items()},
    )


def _text_of(row: Mapping[str, Any]) -> str:
    """The hypothesis of a row: lists are what filters made of it."""
    written: Any = row.get("filtered_resps", "")
    while isinstance(written, list):
        written = written[0] if written else ""
    return str(written)
