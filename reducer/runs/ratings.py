"""Read tables from elsewhere, with the scores of a judge and of people.

A row is an answer: `question`, `answer`, `judge` (the judge's score), and the scores of people, in the columns
`person`, `person_1`, `person_2` and so on, or in columns that the user names. In the other form a row is one person's
score of an answer: `score`, with the name of the person in `person`. A row may have an `id`, which tells equal answers
to one question apart, and a `scale` such as `1-5`, in which its scores must be.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import Line
from speechiq.core.files.tables import check_columns, read_field, read_id, read_number, read_rows
from speechiq.reducer.runs.table import Item

#: The question of an answer, and its id or, without one, its text.
Key = tuple[str, Item]
Scale = tuple[float, float]
#: What names an answer: a `Key`, or an id.
AnswerName = TypeVar("AnswerName")

QUESTION, ANSWER, ID, JUDGE, PERSON, SCORE, SCALE = "question", "answer", "id", "judge", "person", "score", "scale"
COLUMNS = QUESTION, ANSWER, JUDGE
#: Columns of people's scores that need not be named by the user.
NUMBERED = re.compile(rf"{PERSON}(_\d+)?")
NAME_PEOPLE = "call the columns of people's scores person, or person_1, person_2 and so on, or name them with --persons"
#: What stands for a missing score, in any case.
MISSING = ("", "-", "na", "n/a", "nan", "none", "null")
RANGE = re.compile(r"[\[(]?\s*(-?\d+(?:\.\d+)?)\s*(?:-|\u2013|,|;|:|\.\.|to)\s*(-?\d+(?:\.\d+)?)\s*[\])]?")


@dataclass
class Ratings:
    """Hold the scores of a judge and of people, by answer; missing scores are not in them.

    Attributes:
        answers: Answer -> its text, for all rows.
        people: Person -> answer -> score.
        scales: Answer -> lowest and highest score, for rows that state them.
    """

    answers: dict[Key, str] = field(default_factory=dict)
    judge: dict[Key, float] = field(default_factory=dict)
    people: dict[str, dict[Key, float]] = field(default_factory=dict)
    scales: dict[Key, Scale] = field(default_factory=dict)

    @property
    def scored(self) -> list[Key]:
        """Return the answers with a score of the judge and of a person, in the order of the rows."""
        return [key for key in self.judge if any(key in scores for scores in self.people.values())]

    @property
    def has_grades(self) -> bool:
        """Return whether all scores are whole numbers of one scale, of which only the order counts."""
        values = np.array([score for scores in (self.judge, *self.people.values()) for score in scores.values()])
        return len({*self.scales.values()}) < 2 and bool((values == np.round(values)).all())

    def as_shares(self) -> "Ratings":
        """Return the scores as shares of their scales; refuse them if an answer has no scale."""
        if without := [key for key in self.answers if key not in self.scales]:
            raise SpeechIQError(
                f"answer {without[0][1][0]!r:.80}",
                f"no {SCALE}, and other answers have different scales",
                f"fill the column {SCALE} in all rows",
            )

        def share(scores: Mapping[Key, float]) -> dict[Key, float]:
            shares = {}
            for key, score in scores.items():
                low, high = self.scales[key]
                shares[key] = (score - low) / (high - low)
            return shares

        people = {name: share(scores) for name, scores in self.people.items()}
        return Ratings(self.answers, share(self.judge), people, dict.fromkeys(self.answers, (0.0, 1.0)))


def read_ratings(files: Sequence[Path], persons: Sequence[str] = ()) -> Ratings:
    """Return the scores of the judge and of people from tables; each row is refused that does not have its form.

    Args:
        persons: Columns of people's scores; empty for those that `NUMBERED` matches.
    """
    _check_persons(persons)
    ratings = Ratings()
    for file in files:
        lines = read_rows(file)
        columns = _choose_columns(_list_columns(lines), persons, file)
        for line in lines:
            key = _add_answer(ratings, line)
            if columns:
                scores = {column: _read_score(line, column) for column in columns}
            else:
                scores = {_read_person(line, file): _require(_read_score(line, SCORE), line, SCORE)}
            for person, score in scores.items():
                _add_score(ratings, line, key, person, score)
    return ratings


def _check_persons(persons: Sequence[str]) -> None:
    option = f"--persons {','.join(persons)}"
    for number, name in enumerate(persons):
        if not name:
            raise SpeechIQError(option, "a name is empty", "write the names of columns with commas between them")
        if name in persons[:number]:
            raise SpeechIQError(option, f"{name!r} occurs twice", "name each column once")
        if name in COLUMNS:
            raise SpeechIQError(option, f"{name!r} holds no scores of a person", "name other columns")


def _list_columns(lines: Sequence[Line]) -> list[str]:
    """Return the columns of all rows, since those of JSON lines may differ."""
    return list(dict.fromkeys(name for line in lines for name in line.row))


def _choose_columns(names: Sequence[str], persons: Sequence[str], file: Path) -> Sequence[str]:
    """Return the columns of people's scores; empty if each row is one person's score, in the column `score`."""
    check_columns(names, COLUMNS, file)
    if persons:
        check_columns(names, persons, file, "correct --persons")
        return persons
    found = [name for name in names if NUMBERED.fullmatch(name)]
    if SCORE in names:
        if several := [name for name in found if name != PERSON]:
            fault = f"the columns {SCORE!r} and {several[0]!r} both hold scores of people"
            raise SpeechIQError(file, fault, "rename one, or name the columns of people with --persons")
        return []
    if not found:
        raise SpeechIQError(file, f"no column with a person's score; it has {', '.join(names)}", NAME_PEOPLE)
    return found


def _add_answer(ratings: Ratings, line: Line) -> Key:
    """Add the answer of a row with its text, scale and score of the judge, which equal those of earlier rows."""
    row, where = line.row, line.where
    question = read_field(row, QUESTION, where)
    text = "" if row.get(ANSWER) is None else str(row[ANSWER]).strip()
    has_id = row.get(ID) not in (None, "")
    if not has_id and not text:
        raise SpeechIQError(where, f"{ANSWER} and {ID} are empty", "give the row an id, or delete it")
    key = question, (read_id(row, ID, where) if has_id else text,)
    if ratings.answers.setdefault(key, text) != text:
        raise SpeechIQError(where, f"id {key[1][0]!r:.80} has another answer in an earlier row", "give each its own id")
    scale = _read_scale(line)
    if scale is not None and ratings.scales.setdefault(key, scale) != scale:
        raise SpeechIQError(where, f"this answer has another {SCALE} in an earlier row", "correct one of them")
    judge = _read_score(line, JUDGE)
    if not math.isnan(judge) and ratings.judge.setdefault(key, judge) != judge:
        fault = f"the judge gave {judge:g} here and {ratings.judge[key]:g} in another row of this answer"
        raise SpeechIQError(where, fault, "correct one of them, or give the answers ids")
    return key


def _add_score(ratings: Ratings, line: Line, key: Key, person: str, score: float) -> None:
    scores = ratings.people.setdefault(person, {})
    if math.isnan(score):
        return
    if key in scores:
        raise SpeechIQError(
            line.where,
            f"{person!r} scored this answer in an earlier row",
            "delete one row, or give each answer an id if two systems gave the same one",
        )
    scores[key] = score


def _read_person(line: Line, file: Path) -> str:
    """Return the name of the person; a row without one is by the person that the file is named after."""
    person = str(line.row.get(PERSON) or file.stem).strip()
    if person == JUDGE:
        raise SpeechIQError(line.where, f"{PERSON} is {JUDGE!r}", "give the person another name")
    return person


def _read_score(line: Line, column: str) -> float:
    """Return a score inside the scale of the row; NaN if it is missing."""
    value = line.row.get(column)
    if value is None or str(value).strip().casefold() in MISSING:
        return math.nan
    number = read_number(value)
    if not math.isfinite(number):
        fault = f"{column} is {value!r:.80}, not a number"
        raise SpeechIQError(line.where, fault, "write one, or leave the field empty if there is none")
    scale = _read_scale(line)
    if scale is not None and not scale[0] <= number <= scale[1]:
        fault = f"{column} is {number:g}, outside the scale from {scale[0]:g} to {scale[1]:g}"
        raise SpeechIQError(line.where, fault, f"correct it or the column {SCALE}")
    return number


def _require(score: float, line: Line, column: str) -> float:
    if math.isnan(score):
        fault = f"{column} is {line.row.get(column)!r:.80}, not a number"
        raise SpeechIQError(line.where, fault, "write one, or delete the row")
    return score


def _read_scale(line: Line) -> Scale | None:
    """Return the lowest and the highest score that a row states; None if it states none."""
    value = line.row.get(SCALE)
    if value is None or not str(value).strip():
        return None
    found = RANGE.fullmatch(str(value).strip())
    if found is None or not float(found[1]) < float(found[2]):
        raise SpeechIQError(line.where, f"{SCALE} is {value!r:.80}, not a range", "write lowest-highest, such as 1-5")
    return float(found[1]), float(found[2])


def read_judge(file: Path) -> Ratings:
    """Return the scores of the judge from a table; other columns of scores are ignored."""
    lines = read_rows(file)
    check_columns(_list_columns(lines), COLUMNS, file)
    ratings = Ratings()
    for line in lines:
        _add_answer(ratings, line)
    return ratings


def average(people: Mapping[str, Mapping[AnswerName, float]]) -> dict[AnswerName, float]:
    """Return the mean of people's scores of each answer.

    >>> average({"ana": {("Q", ("a",)): 1.0}, "ben": {("Q", ("a",)): 2.0}})
    {('Q', ('a',)): 1.5}
    """
    return {key: sum(scores) / len(scores) for key, scores in gather(people).items()}


def find_majority(people: Mapping[str, Mapping[Key, float]]) -> dict[Key, float]:
    """Return the score that more than half of the people gave, for answers of several people that have such a score.

    >>> find_majority({"ana": {("Q", ("a",)): 1.0}, "ben": {("Q", ("a",)): 2.0}})
    {}
    """
    majority = {}
    for key, scores in gather(people).items():
        most = max(scores, key=scores.count)
        if len(scores) > 1 and 2 * scores.count(most) > len(scores):
            majority[key] = most
    return majority


def gather(people: Mapping[str, Mapping[AnswerName, float]]) -> dict[AnswerName, list[float]]:
    """Return answer -> the scores of all people who scored it."""
    by_answer: dict[AnswerName, list[float]] = {}
    for scores in people.values():
        for key, score in scores.items():
            by_answer.setdefault(key, []).append(score)
    return by_answer
