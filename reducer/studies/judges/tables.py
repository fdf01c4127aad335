"""Compare a judge with people, and two judges with each other, by tables of scores from elsewhere.

`runs/ratings.py` reads the tables.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.ratings import JUDGE, Key, Ratings, average, find_majority, gather, read_judge
from speechiq.reducer.stats.agreement import krippendorff, share_equal
from speechiq.reducer.stats.bootstrap import resample
from speechiq.reducer.stats.grid import ENOUGH_CLUSTERS, Column, Grid, Important
from speechiq.reducer.studies.agreement import RATERS, agreement_grid, compare_each_pair
from speechiq.reducer.studies.judges.people import FEWEST, MOST_GRADES, SCHEMA, count_by_grade, grade_grid
from speechiq.reducer.studies.result import StudyResult

SHARES = "scores are shares of their scales, which differ"
MEAN, MAJORITY = "mean of people", "majority of people"


def compare_ratings(ratings: Ratings, draws: int) -> StudyResult:
    """Compare the judge with the people together and with each, and the people with each other.

    Intervals come from draws of whole questions.
    """
    _refuse_few(ratings)
    grades = ratings.has_grades
    differ = len({*ratings.scales.values()}) > 1
    if differ:
        ratings = ratings.as_shares()
    raters = {JUDGE: ratings.judge} | ratings.people
    unit_of = choose_unit(ratings.answers)
    compare = partial(compare_each_pair, clip_of=unit_of, fewest=FEWEST, draws=draws)
    records = compare(raters.items(), ordinal=grades)
    combined: list[dict[str, Any]] = []
    if len(ratings.people) > 1:
        judge = JUDGE, ratings.judge
        combined += compare([judge, (MEAN, average(ratings.people))])
        combined += compare([judge, (MAJORITY, find_majority(ratings.people))], ordinal=grades)
    if not records and not combined:
        raise SpeechIQError("judge and people", f"no two of them scored the same {FEWEST} answers", "score more")
    people = measure_people(ratings.people, unit_of, grades, draws)
    notes = ["bias: mean of A minus B", *_describe(ratings, combined, differ, draws)]
    statistics = ("equal", "kappa", "spearman", "pearson", "bias")
    grids = [agreement_grid("Agreement of judge and people", [*combined, *records], statistics, notes)]
    content: dict[str, Any] = {"raters": records, "combined": combined, "people": people, "has_grades": grades}
    if people:
        grids.append(_people_grid(people))
    if grades:
        means = average(ratings.people)
        marks, confusion = count_by_grade(np.array([(means[key], ratings.judge[key]) for key in ratings.scored]))
        if len(marks) <= MOST_GRADES:
            content |= {"grades": marks, "confusion": confusion}
            grids.append(grade_grid(marks, confusion))
    content |= {"answers": len(ratings.answers), "unjudged": len(ratings.answers) - len(ratings.judge)}
    return StudyResult(SCHEMA, grids, content, [*combined, *records])


def _refuse_few(ratings: Ratings) -> None:
    count = len(ratings.scored)
    people = ", ".join(ratings.people)
    if not count:
        fault = "no answer has a score of the judge and of a person"
        raise SpeechIQError(f"judge and {people:.200}", fault, "fill the column judge and one of a person in one row")
    if count < FEWEST:
        fault = f"{count_of(count, 'answer')} with a score of the judge and of a person"
        raise SpeechIQError(f"judge and {people:.200}", fault, f"score at least {FEWEST}, better 30 or more")


def choose_unit(answers: Iterable[Key]) -> Callable[[Key], str]:
    """Return a function that names the unit of an answer for draws: its question, or itself if all have the same."""
    if len({question for question, _ in answers}) > 1:
        return lambda key: key[0]
    return lambda key: key[1][0]


def measure_people(
    people: Mapping[str, Mapping[Key, float]], unit_of: Callable[[Key], str], ordinal: bool, draws: int
) -> dict[str, Any] | None:
    """Return the agreement of all people on the answers that several of them scored; None if these are too few.

    `alpha` is Krippendorff's, over all people at once; `equal` is the share of pairs of people with equal scores.
    """
    keys = sorted(key for key, scores in gather(people).items() if len(scores) > 1)
    if len(keys) < FEWEST:
        return None
    table = np.full((len(keys), len(people)), math.nan)
    for column, scores in enumerate(people.values()):
        table[:, column] = [scores.get(key, math.nan) for key in keys]

    def statistics(counts: np.ndarray) -> np.ndarray:
        return np.column_stack([share_equal(table, counts), krippendorff(table, counts, ordinal=ordinal)])

    equal, alpha = resample(statistics, list(map(unit_of, keys)), draws=draws, enough=0).estimates
    count = sum(bool(scores) for scores in people.values())
    return {"people": count, "items": len(keys), "equal": equal, "alpha": alpha, "ordinal": ordinal}


def _people_grid(record: Mapping[str, Any]) -> Grid:
    kind = "ordinal" if record["ordinal"] else "interval"
    note = f"Alpha: Krippendorff's for the {kind} scale, over all people; 1 full agreement, 0 that of chance"
    names = [Column("people", "People", "d"), RATERS[-1]]
    return agreement_grid("Agreement of people", [record], ("equal", "alpha"), [note], names)


def _describe(ratings: Ratings, combined: Sequence[Mapping[str, Any]], differ: bool, draws: int) -> Iterator[str]:
    """Yield lines about how the scores were compared, and which were left out."""
    if differ:
        yield SHARES
    if any(record["b"] == MAJORITY for record in combined):
        yield f"{MAJORITY}: the score that more than half gave; answers without one are left out of its row"
    if unjudged := len(ratings.answers) - len(ratings.judge):
        yield f"answers without a score of the judge, which count in nothing of the judge: {unjudged}"
    if unscored := len(ratings.judge) - len(ratings.scored):
        yield f"answers of the judge without a score of a person: {unscored}"
    if draws:
        yield from _describe_draws(ratings.answers)


def _describe_draws(answers: Collection[Key]) -> Iterator[str]:
    questions = len({question for question, _ in answers})
    if questions == 1:
        yield "bootstrap samples take single answers, since all are to one question"
        return
    yield "bootstrap samples take whole questions"
    if questions < min(ENOUGH_CLUSTERS, len(answers)):
        yield Important(
            f"Few questions ({questions} of {count_of(len(answers), 'answer')}): the intervals are unreliable, since "
            "answers to one question are alike"
        )


def compare_tables(files: Sequence[Path], draws: int, allow_mismatch: bool = False) -> StudyResult:
    """Return the agreement of two judges of the same answers, each with a table; columns of people are ignored.

    Answers whose texts differ under one id are left out if `allow_mismatch`, else refused.
    """
    tables = [read_judge(file) for file in files]
    shared = _share_answers(tables, files, allow_mismatch)
    grades = all(table.has_grades for table in tables)
    scales = {scale for table in tables for scale in table.scales.values()}
    if len(scales) > 1:
        tables, grades = [table.as_shares() for table in tables], False
    names = [file.stem for file in files]
    if names[0] == names[1]:
        names = list(map(str, files))
    raters = []
    for name, table in zip(names, tables, strict=True):
        raters.append((name, {key: table.judge[key] for key in shared}))
    (record,) = compare_each_pair(raters, choose_unit(shared), ordinal=grades, draws=draws)
    for side, (_, scores) in zip("ab", raters, strict=True):
        record[f"mean_{side}"] = sum(scores.values()) / len(scores)
    record["ordinal"] = grades
    content = {"agreements": [record], "draws": draws, "seed": 0}
    unshared = {*tables[0].answers, *tables[1].answers} - {*shared}
    notes = [SHARES] if len(scales) > 1 else []
    if unshared:
        notes.append(f"answers without a score of both judges: {len(unshared)}")
    if draws:
        notes += _describe_draws(shared)
    grid = _judges_grid(record, notes)
    return StudyResult("speechiq-inter-judge-agreement", [grid], content, [record])


def _share_answers(tables: Sequence[Ratings], files: Sequence[Path], allow_mismatch: bool) -> list[Key]:
    """Return the answers with scores of both judges."""
    a, b = tables
    both = [key for key in a.judge if key in b.judge]
    others = [key for key in both if a.answers[key] != b.answers[key]]
    same = [key for key in both if a.answers[key] == b.answers[key]]
    if others and not allow_mismatch:
        raise SpeechIQError(
            f"{files[0]} and {files[1]}",
            f"{len(others)} of {len(both)} answers differ, such as that of id {others[0][1][0]!r:.80}",
            "give tables about the same answers, or add --allow-mismatch to leave them out",
        )
    if not same:
        fault = "no answer has a score in both"
        raise SpeechIQError(f"{files[0]} and {files[1]}", fault, "give both the same questions, and ids or answers")
    return same


def _judges_grid(record: Mapping[str, Any], notes: Sequence[str]) -> Grid:
    kind = "ordinal" if record["ordinal"] else "interval"
    first = ["Bias: mean of A - B, above 0 if A is more generous", f"Alpha: Krippendorff's for the {kind} scale"]
    names = [*RATERS, Column("mean_a", "Mean A", ".2f"), Column("mean_b", "Mean B", ".2f")]
    statistics = ("bias", "kappa", "alpha", "spearman", "pearson", "equal")
    return agreement_grid("Inter-judge agreement", [record], statistics, [*first, *notes], names)
