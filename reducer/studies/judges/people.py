"""Compare a judge with the people who scored some of its answers, and correct its mean scores by them.

Persons score answers on the page of `siq judge check`, whose file `runs/human_scores.py` reads. Scores from elsewhere
are tables (`judges/tables.py`).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.metrics.judge.rubric import Rubric
from speechiq.reducer.runs.human_scores import HumanScores, StoredJudge
from speechiq.reducer.runs.judged import JudgedRow
from speechiq.reducer.runs.ratings import average
from speechiq.reducer.stats.agreement import compare_raters, correct, pearson
from speechiq.reducer.stats.bootstrap import resample
from speechiq.reducer.stats.grid import Column, Grid, Important
from speechiq.reducer.studies.agreement import agreement_grid, compare_each_pair
from speechiq.reducer.studies.result import StudyResult

#: The fewest scored answers from which agreement is computed.
FEWEST = 10
#: Most grades of a table of grades.
MOST_GRADES = 11
EVERY = ""
SCHEMA = "speechiq-judge-check"
BIAS = "bias: mean of judge minus person, on the scale of the rubric"


def check_judge(
    answers: Sequence[JudgedRow], scores: HumanScores, settings: StoredJudge, *, draws: int = 1000
) -> StudyResult:
    """Compare the judge with persons, for each rubric with enough scores.

    Of an answer that several persons scored, the mean counts. Intervals come from draws of clips.
    """
    rubrics: dict[str, list[JudgedRow]] = {}
    for answer in answers:
        rubrics.setdefault(settings.rubric_of(answer.task).sha256, []).append(answer)
    means = average(scores)
    scored = {key: _list_scored(of_rubric, means) for key, of_rubric in rubrics.items()}
    most = max(map(len, scored.values()))
    if most < FEWEST:
        raise SpeechIQError(
            f"{count_of(most, 'answer')} with a score of the judge and of a person",
            fix=f"score at least {FEWEST}, better 30 or more",
        )
    grids: list[Grid] = []
    records: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    too_few: dict[str, int] = {}
    for key, of_rubric in rubrics.items():
        rubric = settings.rubric_of(of_rubric[0].task)
        if len(scored[key]) < FEWEST:
            too_few[rubric.name] = len(scored[key])
            continue
        record = _check_rubric(of_rubric, means, scores, rubric, draws)
        grids += _check_grids(record, rubric, settings.name)
        records.append(record)
        rows += [{"rubric": rubric.name} | group for group in record["groups"]]
    content = {"judge": settings.name, "judging": settings.sha256, "persons": list(scores), "rubrics": records}
    return StudyResult(SCHEMA, _add_left_out(grids, content, too_few), content, rows, tasks=settings.tasks)


def _add_left_out(grids: list[Grid], content: dict[str, Any], too_few: Mapping[str, int]) -> list[Grid]:
    """Return the grids, of which the first says what is left out; add it to the content of the file too.

    `too_few` is rubric -> number of its scored answers, of rubrics with fewer than `FEWEST`.
    """
    if not too_few:
        return grids
    content["left_out"] = dict(too_few)
    left_out = ", ".join(f"{name} ({count})" for name, count in too_few.items())
    first, *others = grids
    note = Important(f"left out, rubrics with fewer than {FEWEST} scored answers: {left_out}")
    return [first._replace(notes=[note, *first.notes]), *others]


def compare_settings(
    judges: Mapping[str, Sequence[JudgedRow]],
    scores: HumanScores,
    settings: Mapping[str, StoredJudge],
    *,
    draws: int = 1000,
) -> StudyResult:
    """Compare several judges of the same answers with persons (WildSpeech-Bench, Figure 4), a row per judge.

    Answers to different rubrics are compared apart, each on the scale of the first judge's rubric, by which persons
    scored. All rows of a rubric are about the answers that every judge and a person scored, and their intervals come
    from the same draws of clips. `gain` is the Pearson correlation minus that of the first judge.

    Args:
        judges: Judge in words -> its answers.
        settings: Judge in words -> its settings.
    """
    means = average(scores)
    first = next(iter(judges))
    rubric_of = {answer.id: settings[first].rubric_of(answer.task) for answer in judges[first]}
    points = {name: _take_points(of_judge, settings[name], rubric_of) for name, of_judge in judges.items()}
    by_rubric: dict[str, list[str]] = {}
    for key in sorted(set(means).intersection(*points.values())):
        by_rubric.setdefault(rubric_of[key].sha256, []).append(key)
    most = max(map(len, by_rubric.values()), default=0)
    if most < FEWEST:
        fault = f"{count_of(most, 'answer')} with a score of every judge and of a person"
        raise SpeechIQError(fault, fix=f"give runs of the same answers, {FEWEST} or more of them scored")
    answers = [*chain.from_iterable(judges.values())]
    clip_of = {answer.id: answer.item[0] for answer in answers}
    columns = [Column("judge", "Judge"), Column("scored", "Scored", "d"), Column("gain", "Gain", "+.2f")]
    notes = ["Gain: Pearson minus that of the first row, on the same answers", BIAS]
    grids: list[Grid] = []
    records: list[dict[str, Any]] = []
    too_few: dict[str, int] = {}
    for shared in by_rubric.values():
        rubric = rubric_of[shared[0]]
        if len(shared) < FEWEST:
            too_few[rubric.name] = len(shared)
            continue
        person = np.array([means[key] for key in shared])
        given: dict[str, np.ndarray] = {}
        for name, by_id in points.items():
            given[name] = np.array([by_id[key] for key in shared])
        rows = _compare_on_shared(given, person, [clip_of[key] for key in shared], _name_clusters(answers), draws)
        records += [{"rubric": rubric.name} | row for row in rows]
        title = f"Judges against people, rubric {_name_scale(rubric)}"
        grids.append(agreement_grid(title, rows, ("pearson", "spearman", "kappa", "bias"), notes, columns))
    tasks = [*chain.from_iterable(each.tasks for each in settings.values())]
    content: dict[str, Any] = {"judges": records, "persons": list(scores)}
    return StudyResult(SCHEMA, _add_left_out(grids, content, too_few), content, records, tasks=tasks)


def _take_points(
    answers: Iterable[JudgedRow], settings: StoredJudge, rubric_of: Mapping[str, Rubric]
) -> dict[str, float]:
    """Return the points of a judge for the answers that have a rubric in `rubric_of`, on the scale of that rubric."""
    points = {}
    for answer in _list_judged(answers):
        if rubric := rubric_of.get(answer.id):
            points[answer.id] = rubric.take(answer.stored.points, settings.rubric_of(answer.task))
    return points


def _name_scale(rubric: Rubric) -> str:
    low, high = rubric.scale
    return f"{rubric.name} ({low} to {high})"


def _compare_on_shared(
    given: Mapping[str, np.ndarray],
    person: np.ndarray,
    clips: Sequence[str],
    clusters: Mapping[str, str],
    draws: int,
) -> list[dict[str, Any]]:
    """Return a record per judge of its agreement with a person on answers to some clips, one entry each."""

    def gains(counts: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.column_stack([pearson(judge, person, counts) for judge in given.values()])
        differences: np.ndarray = found - found[:, :1]
        return differences

    rows: list[dict[str, Any]] = []
    gained = resample(gains, clips, clusters, draws=draws, enough=0).estimates
    for (name, judge), gain in zip(given.items(), gained, strict=True):
        numbers = compare_raters(judge, person, clips, clusters, draws=draws)
        rows.append({"judge": name, "scored": len(person), **numbers, "gain": gain if rows else None})
    return rows


def _list_judged(answers: Iterable[JudgedRow]) -> list[JudgedRow]:
    """Return the answers with a score of the judge."""
    return [answer for answer in answers if not math.isnan(answer.stored.points)]


def _list_scored(answers: Iterable[JudgedRow], means: Mapping[str, float]) -> list[JudgedRow]:
    """Return the answers with a score of the judge and of a person."""
    return [answer for answer in _list_judged(answers) if answer.id in means]


def _check_rubric(
    answers: Sequence[JudgedRow], means: Mapping[str, float], scores: HumanScores, rubric: Rubric, draws: int
) -> dict[str, Any]:
    """Return the comparison of a judge with persons' scores by one rubric, as a record for files.

    `groups` has a record for all answers, then for each system and category with enough scores: the number of
    `answers`, and of the `scored` ones the agreement of judge A and person B; bias and means (`judge` and `corrected`)
    are on the scale of the rubric. Other groups are `left_out`. `confusion` has the number of answers by (grade of the
    person, grade of the judge), both of `grades`. `unjudged` answers count in nothing. `persons` has the agreement of
    each two persons who both scored at least `FEWEST` answers (`compare_each_pair`).
    """
    judged = _list_judged(answers)
    groups, left_out = [], []
    for (system, category), members in _group_answers(judged).items():
        if len(_list_scored(members, means)) >= FEWEST:
            groups.append({"system": system, "category": category} | _compare_group(members, means, rubric, draws))
        else:
            left_out.append(" ".join(filter(None, (system, category))))
    points = [(means[answer.id], answer.stored.points) for answer in _list_scored(judged, means)]
    grades, confusion = count_by_grade(np.array(points))
    clips = {answer.id: answer.item[0] for answer in answers}
    rated: list[tuple[str, dict[str, float]]] = []
    for person, by_id in scores.items():
        rated.append((person, {id: score for id, score in by_id.items() if id in clips}))
    persons = compare_each_pair(rated, clips.__getitem__, _name_clusters(answers), fewest=FEWEST, draws=draws)
    return {
        "rubric": rubric.name,
        "groups": groups,
        "left_out": left_out,
        "grades": grades,
        "confusion": confusion,
        "unjudged": len(answers) - len(judged),
        "persons": persons,
        "rubric_sha256": rubric.sha256,
        "scale": rubric.scale,
    }


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
    numbers = compare_raters(judge[scored], person[scored], clips[scored].tolist(), clusters, draws=draws)
    corrected = correct(judge, person, clips.tolist(), rubric.scale, clusters)
    means_of_group = {"judge": float(judge.mean()), "corrected": corrected}
    return {"answers": len(judge), "scored": corrected.n, **numbers, **means_of_group}


def count_by_grade(points: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Return the grades that occur, and the number of answers by (grade of the person, grade of the judge).

    A score between two grades, the mean of several, is the higher one.
    """
    grades, places = np.unique(np.floor(points.T + 0.5).astype(int), return_inverse=True)
    person, judge = places.reshape(2, -1)
    confusion = np.zeros((len(grades), len(grades)), dtype=int)
    np.add.at(confusion, (person, judge), 1)
    return grades.tolist(), confusion


def _check_grids(checked: Mapping[str, Any], rubric: Rubric, judge: str) -> Iterator[Grid]:
    """Yield the grids of one rubric: agreement, corrected scores, the judge's grades by the person's, and persons."""
    low, high = rubric.scale
    names = [Column("system", "System"), Column("category", "Category")]
    rows: list[dict[str, Any]] = []
    shares: list[dict[str, Any]] = []
    for group in checked["groups"]:
        row = group | {"system": group["system"] or "all", "category": group["category"] or "all"}
        corrected = row["corrected"].map(1 / (high - low), -low / (high - low))
        rows.append(row)
        shares.append(row | {"judge": rubric.as_share(row["judge"]), "corrected": corrected})
    notes = [BIAS]
    if checked["left_out"]:
        notes.append(f"fewer than {FEWEST} scored answers: {', '.join(checked['left_out'])}")
    if checked["unjudged"]:
        notes.append(f"answers without a score of the judge, which count in nothing: {checked['unjudged']}")
    title = f"Judge {judge} against people, rubric {_name_scale(rubric)}"
    statistics = ("kappa", "spearman", "pearson", "bias")
    yield agreement_grid(title, rows, statistics, notes, [*names, Column("scored", "Scored", "d")])
    columns = [
        *names,
        Column("answers", "Answers", "d"),
        Column("judge", "Judge", ".1f", factor=100),
        Column("corrected", "Corrected", ".1f", factor=100),
    ]
    meaning = "corrected: the judge's mean over all answers + the mean of person - judge over the scored ones"
    yield Grid("Mean scores in % of the scale", columns, shares, [meaning])
    if len(checked["grades"]) <= MOST_GRADES:
        yield grade_grid(checked["grades"], checked["confusion"])
    if checked["persons"]:
        yield agreement_grid("Agreement of people", checked["persons"], ["kappa"])


def grade_grid(grades: Sequence[int], confusion: np.ndarray) -> Grid:
    """Return a grid of the number of answers by grade of people (rows) and of the judge (columns)."""
    names = list(map(str, grades))
    rows = []
    for name, counts in zip(names, confusion.tolist(), strict=True):
        rows.append({"person": name} | dict(zip(names, counts, strict=True)))
    columns = [Column(name, f"judge {name}", "d") for name in names]
    return Grid("Answers by grade", [Column("person", "Person"), *columns], rows)


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
