"""Compare a judge with the people who scored some of its answers, and correct its mean scores by them.

Persons score answers on the page of `siq judge check`, whose file `human_scores.py` reads. A table of the user is
enough: question, answer, and the scores of the judge and of a person.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.tables import check_columns, read_field, read_number, read_table
from speechiq.metrics.judge.rubric import Rubric
from speechiq.reducer.runs.human_scores import HumanScores, StoredJudge
from speechiq.reducer.runs.judged import JudgedRow
from speechiq.reducer.runs.table import Item
from speechiq.reducer.stats.agreement import compare_raters, correct
from speechiq.reducer.stats.grid import INTERVAL, Column, Grid
from speechiq.reducer.studies.agreement import agreement_grid, compare_each_pair
from speechiq.reducer.studies.result import StudyResult

#: The fewest scored answers from which agreement is computed.
FEWEST = 10
#: Most grades of a table of grades.
MOST_GRADES = 11
EVERY = ""
SCHEMA = "speechiq-judge-check"
RATING_COLUMNS = ("question", "answer", "judge", "score")
JUDGE, PERSON = "judge", "person"
#: Rater -> answer -> score.
Ratings = Mapping[str, Mapping[tuple[str, Item], float]]


class CheckedRubric(NamedTuple):
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


def check_judge(
    answers: Sequence[JudgedRow], scores: HumanScores, settings: StoredJudge, *, draws: int = 1000
) -> StudyResult:
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
    enough = [rubrics[key] for key, count in counts.items() if count >= FEWEST]
    checked = [_check_rubric(rows, means, scores, settings, draws) for rows in enough]
    about = {"judge": settings.name, "judging": settings.sha256, "persons": list(scores)}
    return StudyResult(
        SCHEMA,
        [grid for of_rubric in checked for grid in _check_grids(of_rubric, settings)],
        about | {"rubrics": [of_rubric.record for of_rubric in checked]},
        [{"rubric": of_rubric.rubric.name} | group for of_rubric in checked for group in of_rubric.groups],
        tasks=settings.tasks,
    )


def _count_scored(answers: Sequence[JudgedRow], means: Mapping[str, float]) -> int:
    return sum(answer.id in means and not math.isnan(answer.stored.points) for answer in answers)


def _check_rubric(
    answers: Sequence[JudgedRow],
    means: Mapping[str, float],
    scores: HumanScores,
    settings: StoredJudge,
    draws: int,
) -> CheckedRubric:
    rubric = settings.rubric_of(answers[0].task)
    judged = [answer for answer in answers if not math.isnan(answer.stored.points)]
    groups, left_out = [], []
    for (system, category), members in _group_answers(judged).items():
        if _count_scored(members, means) >= FEWEST:
            groups.append({"system": system, "category": category} | _compare_group(members, means, rubric, draws))
        else:
            left_out.append(" ".join(filter(None, (system, category))))
    points = [(means[answer.id], answer.stored.points) for answer in judged if answer.id in means]
    grades, confusion = _confuse(np.array(points))
    clips = {answer.id: answer.item[0] for answer in answers}
    clusters = _name_clusters(answers)
    rated: list[tuple[str, dict[str, float]]] = []
    for person, by_id in scores.items():
        rated.append((person, {id: score for id, score in by_id.items() if id in clips}))
    persons = compare_each_pair(
        rated,
        clips.__getitem__,
        clusters,
        fewest=FEWEST,
        draws=draws,
    )
    return CheckedRubric(rubric, groups, left_out, grades, confusion, len(answers) - len(judged), persons)


def _name_clusters(answers: Sequence[JudgedRow]) -> dict[str, str]:
    """Return clip -> its cluster, for clips that have one."""
    return {answer.item[0]: str(answer.doc.cluster) for answer in answers if answer.doc.cluster is not None}


def _group_answers(answers: Sequence[JudgedRow]) -> dict[tuple[str, str], list[JudgedRow]]:
    """Return (system, category) -> answers: all together, each system, and its categories if there are several."""
    groups: dict[tuple[str, str], list[JudgedRow]] = {(EVERY, EVERY): list(answers)}
    several = len({(answer.task.suite, answer.task.level) for answer in answers}) > 1
    for answer in sorted(answers, key=lambda answer: answer.task.system):
        groups.setdefault((answer.task.system, EVERY), []).append(answer)
        if several:
            groups.setdefault((answer.task.system, f"{answer.task.suite} {answer.task.level}"), []).append(answer)
    return dict(sorted(groups.items()))


def _compare_group(
    answers: Sequence[JudgedRow], means: Mapping[str, float], rubric: Rubric, draws: int
) -> dict[str, Any]:
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


def _check_grids(checked: CheckedRubric, settings: StoredJudge) -> Iterator[Grid]:
    """Yield the grids of one rubric: agreement, corrected scores, the judge's grades by the person's, and persons."""
    rubric = checked.rubric
    low, high = rubric.scale
    names = [Column("system", "System"), Column("category", "Category")]
    rows = [
        group | {"system": group["system"] or "all", "category": group["category"] or "all"} for group in checked.groups
    ]
    yield agreement_grid(
        f"Judge {settings.name} against people, rubric {rubric.name} ({low} to {high})",
        rows,
        ("kappa", "spearman", "bias"),
        ["bias: mean of judge minus person, on the scale of the rubric", *_check_notes(checked)],
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
        yield agreement_grid("Agreement of people", checked.persons, ["kappa"])


def _check_notes(checked: CheckedRubric) -> Iterator[str]:
    if checked.left_out:
        yield f"fewer than {FEWEST} scored answers: {', '.join(checked.left_out)}"
    if checked.unjudged:
        yield f"answers without a score of the judge, which count in nothing: {checked.unjudged}"


def choose_answers(answers: Sequence[JudgedRow], count: int, seed: int) -> list[JudgedRow]:
    """Return some answers in random order, every answer with the same chance to be among them.

    They are spread evenly over systems, tasks and scores of the judge: every k-th answer in that order. With equal
    chances no weights are needed: the mean difference of person and judge in the sample estimates that of all answers.
    """
    random = np.random.default_rng(seed)
    ties = random.random(len(answers))
    by_id = sorted(answers, key=lambda answer: answer.id)
    order = sorted(
        range(len(by_id)), key=lambda i: (by_id[i].task.system, by_id[i].task.task, by_id[i].stored.points, ties[i])
    )
    count = min(count, len(order))
    places = (np.arange(count) + random.random()) * len(order) / max(count, 1)
    chosen = [by_id[order[int(place)]] for place in places]
    return [chosen[i] for i in random.permutation(count)]


def read_ratings(files: Sequence[Path]) -> Ratings:
    """Return the scores of the judge and of each person; of an answer several persons have a row each.

    A row without a name in `person` is by the person that the file is named after.
    """
    ratings: dict[str, dict[tuple[str, Item], float]] = {JUDGE: {}}
    for file in files:
        rows = read_table(file)
        check_columns(rows[0], RATING_COLUMNS, file)
        for number, row in enumerate(rows, 1):
            where = f"{file} row {number}"
            question, answer = (read_field(row, column, where) for column in RATING_COLUMNS[:2])
            key = question, (answer,)
            person = str(row.get(PERSON) or file.stem).strip()
            if person == JUDGE:
                raise SpeechIQError(where, f"{PERSON} is {JUDGE!r}", "give the person another name")
            judge, score = (_read_score(row, column, where) for column in RATING_COLUMNS[2:])
            if ratings[JUDGE].setdefault(key, judge) != judge:
                fault = f"the judge gave {judge:g} here and {ratings[JUDGE][key]:g} in another row of this answer"
                raise SpeechIQError(where, fault, "correct one of them")
            if key in ratings.setdefault(person, {}):
                raise SpeechIQError(where, f"{person!r} scored this answer in an earlier row", "delete one row")
            ratings[person][key] = score
    if len(ratings[JUDGE]) < FEWEST:
        raise SpeechIQError(files[0], f"{len(ratings[JUDGE])} answers", f"score at least {FEWEST}, better 30 or more")
    return ratings


def _read_score(row: Mapping[str, Any], column: str, where: str) -> float:
    number = read_number(row.get(column))
    if not math.isfinite(number):
        raise SpeechIQError(where, f"{column} is {row.get(column)!r:.80}, not a number", "write one, or delete the row")
    return number


def compare_ratings(ratings: Ratings, draws: int) -> StudyResult:
    """Return the agreement of the judge with each person, and of each two persons; draws take whole questions."""
    records = compare_each_pair(ratings.items(), lambda key: key[0], fewest=FEWEST, draws=draws)
    if not records:
        raise SpeechIQError("judge and people", f"no two of them scored the same {FEWEST} answers", "score more")
    notes = ["bias: mean of A minus B", "bootstrap samples take whole questions"]
    grid = agreement_grid("Agreement of judge and people", records, ("equal", "kappa", "spearman", "bias"), notes)
    return StudyResult(SCHEMA, [grid], {"raters": records}, records)
