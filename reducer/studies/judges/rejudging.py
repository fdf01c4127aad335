"""Judge the answers of stored runs again, without running a system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import content_sha256
from speechiq.reducer.runs.judged import JudgedRow, read_item, read_judged
from speechiq.reducer.runs.results_file import TaskRun

if TYPE_CHECKING:
    from speechiq.metrics.judge.judging import Case, Judgment
    from speechiq.metrics.judge.settings import Judging


class JudgingPlan(NamedTuple):
    """Hold a task whose answers are judged again, and its new judge with its rubric."""

    task: TaskRun
    judging: Judging


class Rejudged(NamedTuple):
    """Hold a task with new judgments.

    Attributes:
        rows: All rows of its sample file, those with an answer of the judge new.
        scores: Filter -> column -> its values over the rows that were judged again.
        answers: Number of answers that were judged again.
        unjudged: Number of those without a score.
    """

    plan: JudgingPlan
    rows: list[dict[str, Any]]
    scores: dict[str, dict[str, list[Any]]]
    answers: int
    unjudged: int


def plan(tasks: Sequence[TaskRun], options: Mapping[str, Any]) -> list[JudgingPlan]:
    """Return the new judge of each judged task by keys of metadata (`judge`, `judge_*`), after checking all of them."""
    from speechiq.metrics.judge.settings import read_judging

    rubrics = {str(task.metadata["judge_rubric"]) for task in tasks}
    judges = {rubric: read_judging({"judge_rubric": rubric} | dict(options), rubric) for rubric in sorted(rubrics)}
    return [JudgingPlan(task, judges[str(task.metadata["judge_rubric"])]) for task in tasks]


def rejudge(plans: Sequence[JudgingPlan]) -> list[Rejudged]:
    """Judge the answers of some tasks again; all answers with the same rubric at once."""
    from speechiq.metrics.judge.judging import judge_cases

    rows = [read_judged(plan.task) for plan in plans]
    by_judge: dict[str, list[int]] = {}
    for number, plan in enumerate(plans):
        by_judge.setdefault(content_sha256(plan.judging.record()), []).append(number)
    rejudged: dict[int, Rejudged] = {}
    for numbers in by_judge.values():
        cases = [case for number in numbers for row in rows[number][1] for case in _cases(plans[number], row)]
        judgments = iter(judge_cases(cases, plans[numbers[0]].judging))
        rejudged |= {number: _update(plans[number], *rows[number], judgments) for number in numbers}
    answers = sum(task.answers for task in rejudged.values())
    if answers == sum(task.unjudged for task in rejudged.values()):
        raise SpeechIQError(
            f"judge {plans[0].judging.judge}",
            f"none of {answers} answers has a score, so nothing is written",
            "the reasons are above: try another judge or rubric",
        )
    return [rejudged[number] for number in range(len(plans))]


def _scorer(plan: JudgingPlan) -> Any:
    """Return the module that judges the answers of a task, by its type."""
    from speechiq.metrics.judge import free_answers as judge
    from speechiq.metrics.reply import scores as reply

    return reply if plan.task.metadata.get("task_type") == "reply" else judge


def _cases(plan: JudgingPlan, answer: JudgedRow) -> list[Case]:
    return list(_scorer(plan).stored_cases(answer.row["doc"], read_item(answer.row["filtered_resps"])))


def _update(
    plan: JudgingPlan, rows: list[dict[str, Any]], judged: Sequence[JudgedRow], judgments: Iterator[Judgment]
) -> Rejudged:
    """Put new judgments into the rows of a task; columns that a row did not have are not added."""
    from speechiq.metrics.wording import SPREAD, worded

    scorer = _scorer(plan)
    scores: dict[str, dict[str, list[Any]]] = {}
    unjudged = 0
    for answer in judged:
        row = answer.row
        row["doc"] |= plan.judging.record()
        new = [next(judgments) for _ in _cases(plan, answer)]
        item = scorer.renew(read_item(row["filtered_resps"]), new)
        columns: dict[str, float] = scorer.score(row["doc"], [item])
        if plan.task.category.column in columns and SPREAD in row:
            columns[SPREAD] = worded(columns[plan.task.category.column], row["doc"])
        unjudged += columns["unjudged"] > 0
        row["filtered_resps"] = [str(item)]
        kept = scores.setdefault(str(row.get("filter")), {})
        for name in columns.keys() & row.keys():
            row[name] = columns[name]
            kept.setdefault(name, []).append(columns[name])
    return Rejudged(plan, rows, scores, len(judged), unjudged)
