"""Compare a judge with the persons who scored some of its answers, and correct its mean scores by them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.metrics.judge.rubric import Rubric
from speechiq.reducer.runs.judged import JudgedRow
from speechiq.reducer.stats import agreement
from speechiq.reducer.stats.bootstrap import bootstrap
from speechiq.reducer.stats.corrected import Corrected, correct
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import UNKNOWN, Column, Grid
from speechiq.reducer.studies.judges.human_scores import HumanScores
from speechiq.reducer.studies.judges.settings import JudgeSettings

#: The fewest scored answers from which agreement is computed.
FEWEST = 10
#: Most grades of a table of grades.
MOST_GRADES = 11
ALL = ""


class Group(NamedTuple):
    """Answers of one rubric: all of them, those of a system, or those of a system in one category.

    Attributes:
        system: Name of the system; empty for all.
        category: Name of the category; empty for all.
        kappa: Quadratically weighted kappa of judge and person.
        spearman: Their rank correlation.
        bias: Mean of judge - person, on the scale of the rubric.
        corrected: Mean scores on the scale of the rubric.
    """

    system: str
    category: str
    kappa: Estimate
    spearman: Estimate
    bias: Estimate
    corrected: Corrected

    @property
    def record(self) -> dict[str, Any]:
        """Return the numbers with a name for each; means are on the scale of the rubric."""
        corrected = self.corrected
        return {
            "system": self.system,
            "category": self.category,
            "answers": corrected.answers,
            "scored": corrected.mean.n,
            "kappa": self.kappa,
            "spearman": self.spearman,
            "bias": self.bias,
            "judge": corrected.judge,
            "corrected": corrected.mean,
        }


class Agreement(NamedTuple):
    """Agreement of two persons on the answers that both scored."""

    one: str
    other: str
    answers: int
    kappa: float


class Checked(NamedTuple):
    """What persons' scores show about a judge with one rubric.

    Attributes:
        rubric: The rubric.
        groups: All answers first, then each system and category with enough scores.
        left_out: Names of systems and categories with too few scores for a group of their own.
        grades: The grades that occur, lowest first.
        confusion: Number of answers by (grade of the person, grade of the judge).
        unjudged: Number of answers without a score of the judge; they count in nothing.
        persons: Agreement of each two persons who scored at least `FEWEST` equal answers.
    """

    rubric: Rubric
    groups: list[Group]
    left_out: list[str]
    grades: list[int]
    confusion: np.ndarray
    unjudged: int
    persons: list[Agreement]

    @property
    def record(self) -> dict[str, Any]:
        """Return the numbers of the rubric as a record for files."""
        return {
            "rubric": self.rubric.name,
            "rubric_sha256": self.rubric.sha256,
            "scale": self.rubric.scale,
            "unjudged": self.unjudged,
            "groups": [group.record for group in self.groups],
            "left_out": self.left_out,
            "grades": self.grades,
            "confusion": self.confusion,
            "persons": self.persons,
        }


def check(
    answers: Sequence[JudgedRow], scores: HumanScores, settings: JudgeSettings, *, draws: int = 1000, seed: int = 0
) -> list[Checked]:
    """Compare the judge with persons, for each rubric with enough scores.

    Args:
        answers: All judged answers of the runs.
        scores: Scores of each person. Of an answer that several persons scored, the mean counts.
        settings: The judge of the runs.
        draws: Number of bootstrap draws.
        seed: Seed of the draws.

    Raises:
        SpeechIQError: No rubric has enough scores.
    """
    rubrics: dict[str, list[JudgedRow]] = {}
    for answer in answers:
        rubrics.setdefault(settings.rubric_of(answer.task).sha256, []).append(answer)
    means = _mean_of_persons(scores)
    counts = {key: _count_scored(of, means) for key, of in rubrics.items()}
    if max(counts.values()) < FEWEST:
        raise SpeechIQError(
            f"{count_of(max(counts.values()), 'answer')} with a score of the judge and of a person; score at least "
            f"{FEWEST}, better 30 or more"
        )
    return [
        _check_rubric(rubrics[key], means, scores, settings, draws, seed)
        for key, count in counts.items()
        if count >= FEWEST
    ]


def _mean_of_persons(scores: HumanScores) -> dict[str, float]:
    given: dict[str, list[float]] = {}
    for of in scores.values():
        for id, score in of.items():
            given.setdefault(id, []).append(score)
    return {id: sum(of) / len(of) for id, of in given.items()}


def _count_scored(answers: Sequence[JudgedRow], means: Mapping[str, float]) -> int:
    return sum(answer.id in means and not math.isnan(answer.stored.points) for answer in answers)


def _check_rubric(
    answers: Sequence[JudgedRow],
    means: Mapping[str, float],
    scores: HumanScores,
    settings: JudgeSettings,
    draws: int,
    seed: int,
) -> Checked:
    rubric = settings.rubric_of(answers[0].task)
    judged = [answer for answer in answers if not math.isnan(answer.stored.points)]
    groups, left_out = [], []
    for (system, category), of in _group(judged).items():
        if _count_scored(of, means) >= FEWEST:
            groups.append(_compare(system, category, of, means, rubric, draws, seed))
        else:
            left_out.append(" ".join(filter(None, (system, category))))
    scored = [answer for answer in judged if answer.id in means]
    one, other = np.array([(means[answer.id], answer.stored.points) for answer in scored]).T
    grades, confusion = _confuse(to_grades(one), to_grades(other))
    ids = {answer.id for answer in answers}
    persons = list(_compare_persons(scores, ids))
    return Checked(rubric, groups, left_out, grades, confusion, len(answers) - len(judged), persons)


def _group(answers: Sequence[JudgedRow]) -> dict[tuple[str, str], list[JudgedRow]]:
    """Return (system, category) -> answers: all together, each system, and its categories if there are several."""
    groups: dict[tuple[str, str], list[JudgedRow]] = {(ALL, ALL): list(answers)}
    several = len({(answer.task.suite, answer.task.level) for answer in answers}) > 1
    for answer in sorted(answers, key=lambda answer: answer.task.system):
        groups.setdefault((answer.task.system, ALL), []).append(answer)
        if several:
            groups.setdefault((answer.task.system, f"{answer.task.suite} {answer.task.level}"), []).append(answer)
    return dict(sorted(groups.items()))


def _compare(
    system: str,
    category: str,
    answers: Sequence[JudgedRow],
    means: Mapping[str, float],
    rubric: Rubric,
    draws: int,
    seed: int,
) -> Group:
    judge = np.array([answer.stored.points for answer in answers])
    person = np.array([means.get(answer.id, math.nan) for answer in answers])
    clips = [answer.item[0] for answer in answers]
    scored = np.flatnonzero(~np.isnan(person))
    one, other = judge[scored], person[scored]
    over = partial(bootstrap, clusters=[clips[row] for row in scored], draws=draws, seed=seed)
    return Group(
        system,
        category,
        over(partial(agreement.weighted_kappa, one, other)),
        over(partial(agreement.spearman, one, other)),
        over(partial(agreement.mean_difference, one, other)),
        correct(judge, person, clips, rubric.scale),
    )


def to_grades(scores: np.ndarray) -> np.ndarray:
    """Return the nearest grades; a score between two grades becomes the higher one.

    >>> to_grades(np.array([2.5, 3.4])).tolist()
    [3, 3]
    """
    return np.floor(scores + 0.5).astype(int)


def _confuse(person: np.ndarray, judge: np.ndarray) -> tuple[list[int], np.ndarray]:
    grades = sorted({*person.tolist(), *judge.tolist()})
    counts = np.zeros((len(grades), len(grades)), int)
    np.add.at(counts, (np.searchsorted(grades, person), np.searchsorted(grades, judge)), 1)
    return grades, counts


def _compare_persons(scores: HumanScores, ids: set[str]) -> Iterator[Agreement]:
    for one, other in combinations(scores, 2):
        both = sorted(scores[one].keys() & scores[other].keys() & ids)
        if len(both) >= FEWEST:
            first, second = (np.array([scores[person][id] for id in both]) for person in (one, other))
            kappa = agreement.weighted_kappa(first, second, np.ones((1, len(both))))
            yield Agreement(one, other, len(both), float(kappa[0]))


def as_grids(checked: Checked, settings: JudgeSettings) -> Iterator[Grid]:
    """Yield the grids of one rubric: agreement, corrected scores, and the judge's grades by the person's.

    Args:
        checked: What the scores show.
        settings: The judge.
    """
    rubric = checked.rubric
    low, high = rubric.scale
    names = [Column("system", "System"), Column("category", "Category")]
    rows = [
        group.record | {"system": group.system or "all", "category": group.category or "all"}
        for group in checked.groups
    ]
    yield Grid(
        f"Judge {settings.name} against persons, rubric {rubric.name} ({low} to {high})",
        [
            *names,
            Column("scored", "Scored", "d"),
            Column("kappa", "Weighted kappa\n95 % interval", ".2f"),
            Column("spearman", "Spearman\n95 % interval", ".2f"),
            Column("bias", "Bias\n95 % interval", "+.2f"),
        ],
        rows,
        ["bias: mean of judge minus person, on the scale of the rubric", *_notes(checked)],
    )
    yield Grid(
        "Mean scores in % of the scale",
        [
            *names,
            Column("answers", "Answers", "d"),
            Column("judge", "Judge", ".1f"),
            Column("corrected", "Corrected\n95 % interval", ".1f"),
        ],
        [row | {"judge": _percent(row["judge"], rubric), "corrected": _percent_of(row, rubric)} for row in rows],
        ["corrected: the judge's mean over all answers + the mean of person - judge over the scored ones"],
    )
    if len(checked.grades) <= MOST_GRADES:
        yield Grid(
            "Answers by grade",
            [Column("person", "Person"), *(Column(str(grade), f"judge {grade}", "d") for grade in checked.grades)],
            [
                {"person": str(grade)} | dict(zip(map(str, checked.grades), counts, strict=True))
                for grade, counts in zip(checked.grades, checked.confusion.tolist(), strict=True)
            ],
        )


def _percent(score: float, rubric: Rubric) -> float:
    return 100 * rubric.as_share(score)


def _percent_of(row: Mapping[str, Any], rubric: Rubric) -> Estimate:
    value, low, high = (_percent(score, rubric) for score in row["corrected"][:3])
    return Estimate(value, low, high)


def _notes(checked: Checked) -> Iterator[str]:
    if checked.left_out:
        yield f"fewer than {FEWEST} scored answers: {', '.join(checked.left_out)}"
    if checked.unjudged:
        yield f"answers without a score of the judge, which count in nothing: {checked.unjudged}"
    for pair in checked.persons:
        kappa = UNKNOWN if math.isnan(pair.kappa) else f"{pair.kappa:.2f}"
        yield f"persons {pair.one} and {pair.other}: weighted kappa {kappa} on {count_of(pair.answers, 'answer')}"
