"""Compare a judge with the persons who scored some of its answers, and correct its mean scores by them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.metrics.judge.rubric import Rubric
from speechiq.reducer.runs.judged import JudgedRow
from speechiq.reducer.stats.agreement import compare_raters, correct
from speechiq.reducer.stats.grid import INTERVAL, Column, Grid
from speechiq.reducer.studies import agreement
from speechiq.reducer.studies.judges.human_scores import HumanScores, JudgeSettings

#: The fewest scored answers from which agreement is computed.
FEWEST = 10
#: Most grades of a table of grades.
MOST_GRADES = 11
ALL = ""


class Checked(NamedTuple):
    """Describe what persons' scores show about a judge with one rubric.

    Attributes:
        groups: A record for all answers, then for each system and category with enough scores: the number of
            `answers`, and of the `scored` ones the agreement of judge A and person B; bias and means (`judge` and
            `corrected`) are on the scale of the rubric.
        left_out: Names of systems and categories with too few scores for a group of their own.
        grades: The grades that occur, lowest first.
        confusion: Number of answers by (grade of the person, grade of the judge).
        unjudged: Number of answers without a score of the judge; they count in nothing.
        persons: Agreement of each two persons who both scored at least `FEWEST` answers (`compare_each_pair`).
    """

    rubric: Rubric
    groups: list[dict[str, Any]]
    left_out: list[str]
    grades: list[int]
    confusion: np.ndarray
    unjudged: int
    persons: list[dict[str, Any]]

    @property
    def record(self) -> dict[str, Any]:
        """Return the numbers of the rubric as a record for files."""
        rubric = {"rubric": self.rubric.name, "rubric_sha256": self.rubric.sha256, "scale": self.rubric.scale}
        return self._asdict() | rubric


def check(
    answers: Sequence[JudgedRow], scores: HumanScores, settings: JudgeSettings, *, draws: int = 1000
) -> list[Checked]:
    """Compare the judge with persons, for each rubric with enough scores.

    Of an answer that several persons scored, the mean counts. Intervals come from draws of clips.
    """
    rubrics: dict[str, list[JudgedRow]] = {}
    for answer in answers:
        rubrics.setdefault(settings.rubric_of(answer.task).sha256, []).append(answer)
    by_answer: dict[str, list[float]] = {}
    for scores_of_person in scores.values():
        for id, score in scores_of_person.items():
            by_answer.setdefault(id, []).append(score)
    means = {id: sum(values) / len(values) for id, values in by_answer.items()}
    counts = {key: _count_scored(rows, means) for key, rows in rubrics.items()}
    if max(counts.values()) < FEWEST:
        raise SpeechIQError(
            f"{count_of(max(counts.values()), 'answer')} with a score of the judge and of a person",
            fix=f"score at least {FEWEST}, better 30 or more",
        )
    return [
        _check_rubric(rubrics[key], means, scores, settings, draws) for key, count in counts.items() if count >= FEWEST
    ]


def _count_scored(answers: Sequence[JudgedRow], means: Mapping[str, float]) -> int:
    return sum(answer.id in means and not math.isnan(answer.stored.points) for answer in answers)


def _check_rubric(
    answers: Sequence[JudgedRow],
    means: Mapping[str, float],
    scores: HumanScores,
    settings: JudgeSettings,
    draws: int,
) -> Checked:
    rubric = settings.rubric_of(answers[0].task)
    judged = [answer for answer in answers if not math.isnan(answer.stored.points)]
    groups, left_out = [], []
    for (system, category), members in _group(judged).items():
        if _count_scored(members, means) >= FEWEST:
            groups.append({"system": system, "category": category} | _compare(members, means, rubric, draws))
        else:
            left_out.append(" ".join(filter(None, (system, category))))
    points = [(means[answer.id], answer.stored.points) for answer in judged if answer.id in means]
    grades, confusion = _confuse(np.array(points))
    clips = {answer.id: answer.item[0] for answer in answers}
    clusters = _name_clusters(answers)
    persons = agreement.compare_each_pair(
        [(person, {id: score for id, score in by_id.items() if id in clips}) for person, by_id in scores.items()],
        clips.__getitem__,
        clusters,
        fewest=FEWEST,
        draws=draws,
    )
    return Checked(rubric, groups, left_out, grades, confusion, len(answers) - len(judged), persons)


def _name_clusters(answers: Sequence[JudgedRow]) -> dict[str, str]:
    """Return clip -> its cluster, for clips that have one."""
    return {answer.item[0]: str(answer.doc.cluster) for answer in answers if answer.doc.cluster is not None}


def _group(answers: Sequence[JudgedRow]) -> dict[tuple[str, str], list[JudgedRow]]:
    """Return (system, category) -> answers: all together, each system, and its categories if there are several."""
    groups: dict[tuple[str, str], list[JudgedRow]] = {(ALL, ALL): list(answers)}
    several = len({(answer.task.suite, answer.task.level) for answer in answers}) > 1
    for answer in sorted(answers, key=lambda answer: answer.task.system):
        groups.setdefault((answer.task.system, ALL), []).append(answer)
        if several:
            groups.setdefault((answer.task.system, f"{answer.task.suite} {answer.task.level}"), []).append(answer)
    return dict(sorted(groups.items()))


def _compare(answers: Sequence[JudgedRow], means: Mapping[str, float], rubric: Rubric, draws: int) -> dict[str, Any]:
    judge = np.array([answer.stored.points for answer in answers])
    person = np.array([means.get(answer.id, math.nan) for answer in answers])
    clips = np.array([answer.item[0] for answer in answers])
    scored, clusters = ~np.isnan(person), _name_clusters(answers)
    numbers = compare_raters(judge[scored], person[scored], clips[scored].tolist(), clusters, draws=draws)._asdict()
    corrected = correct(judge, person, clips.tolist(), rubric.scale, clusters)
    counts = {"answers": len(judge), "scored": corrected.n}
    return counts | numbers | {"judge": float(judge.mean()), "corrected": corrected}


def _confuse(points: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Return the grades that occur, and the number of answers by (grade of the person, grade of the judge).

    A score between two grades, the mean of several, is the higher one.
    """
    from sklearn.metrics import confusion_matrix

    person, judge = np.floor(points.T + 0.5).astype(int)
    grades = np.unique([person, judge]).tolist()
    return grades, confusion_matrix(person, judge, labels=grades)


def as_grids(checked: Checked, settings: JudgeSettings) -> Iterator[Grid]:
    """Yield the grids of one rubric: agreement, corrected scores, the judge's grades by the person's, and persons."""
    rubric = checked.rubric
    low, high = rubric.scale
    names = [Column("system", "System"), Column("category", "Category")]
    rows = [
        group | {"system": group["system"] or "all", "category": group["category"] or "all"} for group in checked.groups
    ]
    yield agreement.as_grid(
        f"Judge {settings.name} against persons, rubric {rubric.name} ({low} to {high})",
        rows,
        ("kappa", "spearman", "bias"),
        ["bias: mean of judge minus person, on the scale of the rubric", *_notes(checked)],
        [*names, Column("scored", "Scored", "d")],
    )
    scale = 1 / (high - low), -low / (high - low)
    shares = [row | {"judge": rubric.as_share(row["judge"]), "corrected": row["corrected"].map(*scale)} for row in rows]
    yield Grid(
        "Mean scores in % of the scale",
        [
            *names,
            Column("answers", "Answers", "d"),
            Column("judge", "Judge", ".1f", factor=100),
            Column("corrected", f"Corrected\n{INTERVAL}", ".1f", factor=100),
        ],
        shares,
        ["corrected: the judge's mean over all answers + the mean of person - judge over the scored ones"],
    )
    if len(checked.grades) <= MOST_GRADES:
        grades = list(map(str, checked.grades))
        yield Grid(
            "Answers by grade",
            [Column("person", "Person"), *(Column(grade, f"judge {grade}", "d") for grade in grades)],
            [
                {"person": grade} | dict(zip(grades, counts, strict=True))
                for grade, counts in zip(grades, checked.confusion.tolist(), strict=True)
            ],
        )
    if checked.persons:
        yield agreement.as_grid("Agreement of persons", checked.persons, ["kappa"])


def _notes(checked: Checked) -> Iterator[str]:
    if checked.left_out:
        yield f"fewer than {FEWEST} scored answers: {', '.join(checked.left_out)}"
    if checked.unjudged:
        yield f"answers without a score of the judge, which count in nothing: {checked.unjudged}"
