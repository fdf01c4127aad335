"""Measure how far a judge can be trusted on one system's answers: gaps, agreement of draws, length, and the rule."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from speechiq.metrics.columns import mean
from speechiq.reducer.runs.judged import Judged, name_judges
from speechiq.reducer.runs.samples import Item
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats import agreement
from speechiq.reducer.stats.bootstrap import NO_CLUSTERS, Statistic, resample
from speechiq.reducer.stats.estimate import UNDEFINED, Estimate

#: Name of the reliability over all categories.
POOLED = "every_category"


class Reliability(NamedTuple):
    """Describe what can be known about a judge from its own scores; a number that is not defined is NaN.

    Attributes:
        unjudged: Share of them without a readable score.
        unread: Share of single draws without a readable score, among the draws of answers that are not empty.
        draws: Largest number of draws of an answer.
        equal: Share of pairs of draws of one answer with equal scores.
        alpha: Krippendorff's alpha over the draws.
        ordinal: Whether alpha is that of the ordinal scale, as for whole grades; else of the interval scale.
        length: Rank correlation of the judge's score with the number of words of the answer.
        rule: Rank correlation of the judge's score with the score by rule.
        constant: Whether all scores are equal, of more than one answer.
    """

    items: int
    unjudged: float
    refusals: float
    empty: float
    unread: float
    draws: int
    equal: float
    alpha: Estimate
    ordinal: bool
    length: Estimate
    match: float
    rule: Estimate
    constant: bool


def measure(
    judged: Mapping[Item, Judged], clusters: Mapping[str, str] = NO_CLUSTERS, *, draws: int, seed: int = 0
) -> Reliability:
    """Return the reliability of a judge on some answers, with intervals from draws of clips, or of their clusters.

    0 draws leave intervals out. Empty answers are not sent to a judge: agreement and correlations leave them out.
    """
    rated = {item: answer for item, answer in judged.items() if not answer.empty}
    answers, clips = list(rated.values()), [item[0] for item in rated]
    ratings = _ratings(answers)
    known = ratings[~np.isnan(ratings)]
    ordinal = bool((known == np.round(known)).all())

    def draw(statistic: Statistic, clips: Sequence[str]) -> Estimate:
        return resample(statistic, clips, clusters, draws=draws, seed=seed).estimate if clips else UNDEFINED

    def correlate(others: Sequence[float]) -> Estimate:
        pairs = np.array([(answer.judge, other) for answer, other in zip(answers, others, strict=True)]).reshape(-1, 2)
        rows = np.flatnonzero(~np.isnan(pairs).any(axis=1))
        return draw(partial(agreement.spearman, *pairs[rows].T), [clips[row] for row in rows])

    return Reliability(
        items=len(judged),
        unjudged=mean(answer.unjudged for answer in judged.values()),
        refusals=mean(answer.refusal for answer in judged.values()),
        empty=mean(answer.empty for answer in judged.values()),
        unread=mean(math.isnan(score) for answer in answers for score in answer.scores),
        draws=ratings.shape[1],
        equal=float(agreement.share_equal(ratings, np.ones((1, len(answers))))[0]),
        alpha=draw(partial(agreement.krippendorff, ratings, ordinal=ordinal), clips),
        ordinal=ordinal,
        length=correlate([answer.words for answer in answers]),
        match=mean(answer.match for answer in judged.values()),
        rule=correlate([answer.rule for answer in answers]),
        constant=len(answers) > 1 and len(np.unique(known)) == 1,
    )


def add_reliability(scoreboard: Scoreboard) -> Scoreboard:
    """Return a scoreboard with the reliability of the judge of each category, with intervals as its error bars.

    If one judge judged several categories, also the reliability over all their answers (`POOLED`).
    """
    draws, seed = (scoreboard.bars.draws, scoreboard.bars.seed) if scoreboard.bars else (0, 0)
    answers = {
        category: [system.scored_answers(category) for system in scoreboard.systems] for category in scoreboard.pool.raw
    }
    judged = {category: systems for category, systems in answers.items() if any(systems)}
    judges = {name_judges(task for task in system.tasks if task.level in judged) for system in scoreboard.systems}
    if len(judged) > 1 and not any(";" in names for names in judges):
        systems = range(len(scoreboard.systems))
        judged[POOLED] = [
            join_categories({name: judged[name][row] for name in answers if name in judged}) for row in systems
        ]
    reliability = {
        category: [measure(system, scoreboard.pool.clusters, draws=draws, seed=seed) for system in systems]
        for category, systems in judged.items()
    }
    return scoreboard._replace(reliability=reliability)


def join_categories(answers: Mapping[str, Mapping[Item, Judged]]) -> dict[Item, Judged]:
    """Return category -> item -> answer as answers of one category; items of one name in two of them stay apart."""
    return {(item[0], name, *item[1:]): answer for name, items in answers.items() for item, answer in items.items()}


def part_most(judged: Mapping[Item, Judged], count: int) -> list[tuple[Item, Judged]]:
    """Return the answers on which the scores by the judge and by rule differ, the largest differences first."""
    differences = {item: abs(answer.judge - answer.rule) for item, answer in judged.items()}
    differing = [item for item, difference in differences.items() if difference > 0]
    return [(item, judged[item]) for item in sorted(differing, key=lambda item: (-differences[item], item))[:count]]


def _ratings(answers: Sequence[Judged]) -> np.ndarray:
    """Return the scores of all draws, shape (answers, draws); NaN for one that is missing or not readable."""
    ratings = np.full((len(answers), max((len(answer.scores) for answer in answers), default=0)), np.nan)
    for row, answer in zip(ratings, answers, strict=True):
        row[: len(answer.scores)] = answer.scores
    return ratings
