"""Read what a judge made of each answer: the columns of judged tasks, and the score of each draw."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.reducer.runs.judged import read_stored
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import Pick, Row, read_row
from speechiq.reducer.runs.samples import Item


class Judged(NamedTuple):
    """One judged answer; numbers that a row does not have are NaN.

    Attributes:
        answer: The system's answer.
        scores: Score of each draw on the scale of the rubric; NaN for one that could not be read.
        judge: Their mean as a share of the scale, 0 to 1.
        rule: Score without a judge: 1 if the answer matches by rule, else its F1.
        match: Whether the answer matches by rule.
        words: Number of words of the answer.
        refusal: Whether the system refused to answer.
        empty: Whether the answer is empty.
    """

    answer: str
    scores: tuple[float, ...]
    judge: float
    rule: float
    match: float
    words: float
    refusal: float
    empty: float

    @property
    def points(self) -> float:
        """Return the mean of the readable scores on the scale of the rubric; NaN without one."""
        known = [score for score in self.scores if not math.isnan(score)]
        return sum(known) / len(known) if known else math.nan

    @property
    def unjudged(self) -> bool:
        """Return whether no draw has a score."""
        return math.isnan(self.judge)


class JudgeRow(Row):
    """A row with the columns of a judged task; rows of other tasks have no `unjudged`."""

    NEEDS = "an object doc, and numbers in the columns of its judge"

    doc: dict[str, Any]
    filtered_resps: Any = None
    judge: float | None = None
    unjudged: float | None = None
    refusal: float | None = None
    empty_answer: float | None = None
    exact_match: float | None = None
    f1: float | None = None
    answer_words: float | None = None

    def loose(self) -> list[Any]:
        """Return the fields of any type; see `Row.loose`."""
        return [self.doc, self.filtered_resps]


class JudgedReader:
    """Read the judged answers of one category.

    Attributes:
        level: Name of the category.
        judged: System -> item -> its judged answer.
    """

    def __init__(self, category: Category) -> None:
        """Prepare to read the rows of a category."""
        self.level = category.name
        self.judged: dict[str, dict[Item, Judged]] = {}
        self._fields = category.item

    def open(self, task: TaskRun) -> Pick:
        """Return the function that takes the lines of a task's sample file; see `Reader`."""
        return partial(self._add, self.judged.setdefault(task.system, {}), task.samples)

    def _add(self, judged: dict[Item, Judged], path: Path, number: int, line: bytes) -> None:
        row = read_row(JudgeRow, path, number, line)
        stored = read_stored(row.filtered_resps)
        if stored is None or row.unjudged is None:
            return
        item = tuple(str(row.doc.get(field, "")) for field in self._fields)
        match, f1 = _number(row.exact_match), _number(row.f1)
        judged[item] = Judged(
            answer=stored.answer,
            scores=tuple(map(_number, stored.scores)),
            judge=_number(row.judge),
            rule=1.0 if match >= 1 else f1,
            match=match,
            words=_number(row.answer_words),
            refusal=_number(row.refusal),
            empty=_number(row.empty_answer),
        )


def _number(value: float | None) -> float:
    return math.nan if value is None else value
