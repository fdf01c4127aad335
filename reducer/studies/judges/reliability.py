"""Measure how far a judge can be trusted on one system's answers: gaps, agreement of draws, length, and the rule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from speechiq.reducer.runs.judge_name import name_judges
from speechiq.reducer.runs.judged import Judged
from speechiq.reducer.runs.rows import Item
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats import agreement
from speechiq.reducer.stats.bootstrap import bootstrap
from speechiq.reducer.stats.estimate import Estimate, plain

#: Name of the reliability over all categories.
POOLED = "every_category"


class Reliability(NamedTuple):
    """What can be known about a judge from its own scores; a number that is not defined is NaN.

    Attributes:
        items: Number of answers.
        unjudged: Share of them without a readable score.
        refusals: Share of answers that refuse.
        empty: Share of empty answers.
        unread: Share of single draws without a readable score, among the draws of answers that are not empty.
        draws: Largest number of draws of an answer.
        equal: Share of pairs of draws of one answer with equal scores.
        alpha: Krippendorff's alpha over the draws.
        ordinal: Whether alpha is that of the ordinal scale, as for whole grades; else of the interval scale.
        length: Rank correlation of the judge's score with the number of words of the answer.
        match: Share of answers that match by rule.
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

    @property
    def plain(self) -> dict[str, Any]:
        """Return the numbers as plain data; None for NaN."""
        return dict(plain(self))


def measure(judged: Mapping[Item, Judged], *, draws: int, seed: int = 0) -> Reliability:
    """Return the reliability of a judge on some answers, with intervals from draws of clips; 0 draws leave them out.

    Empty answers are not sent to a judge: agreement and correlations leave them out.
    """
    given = {item: of for item, of in judged.items() if not of.empty}
    answers, clips = list(given.values()), [item[0] for item in given]
    ratings = _ratings(answers)
    known = ratings[~np.isnan(ratings)]
    ordinal = bool((known == np.round(known)).all())
    over = partial(bootstrap, draws=draws, seed=seed)

    def correlate(others: Sequence[float]) -> Estimate:
        pairs = np.array([(of.judge, other) for of, other in zip(answers, others, strict=True)]).reshape(-1, 2)
        rows = np.flatnonzero(~np.isnan(pairs).any(axis=1))
        return over(partial(agreement.spearman, *pairs[rows].T), [clips[row] for row in rows])

    return Reliability(
        items=len(judged),
        unjudged=_share([of.unjudged for of in judged.values()]),
        refusals=_share([of.refusal for of in judged.values()]),
        empty=_share([of.empty for of in judged.values()]),
        unread=_share([math.isnan(score) for of in answers for score in of.scores]),
        draws=ratings.shape[1],
        equal=float(agreement.share_equal(ratings, np.ones((1, len(answers))))[0]),
        alpha=over(partial(agreement.krippendorff, ratings, ordinal=ordinal), clips),
        ordinal=ordinal,
        length=correlate([of.words for of in answers]),
        match=_share([of.match for of in judged.values()]),
        rule=correlate([of.rule for of in answers]),
        constant=len(answers) > 1 and len(np.unique(known)) == 1,
    )


def add_reliability(scoreboard: Scoreboard) -> Scoreboard:
    """Return a scoreboard with the reliability of the judge of each category, with intervals as its error bars.

    If one judge judged several categories, also the reliability over all their answers (`POOLED`).
    """
    draws, seed = (scoreboard.bars.draws, scoreboard.bars.seed) if scoreboard.bars else (0, 0)
    answers = {
        category: [system.scored_answers(category) for system in scoreboard.systems] for category in scoreboard.ranks
    }
    judged = {category: systems for category, systems in answers.items() if any(systems)}
    found = {category: [measure(of, draws=draws, seed=seed) for of in systems] for category, systems in judged.items()}
    judges = {name_judges(task for task in system.tasks if task.level in found) for system in scoreboard.systems}
    if len(found) > 1 and not any(";" in names for names in judges):
        joined = [
            join_categories({category: systems[row] for category, systems in judged.items()})
            for row in range(len(scoreboard.systems))
        ]
        found[POOLED] = [measure(of, draws=draws, seed=seed) for of in joined]
    return scoreboard._replace(reliability=found)


def join_categories(answers: Mapping[str, Mapping[Item, Judged]]) -> dict[Item, Judged]:
    """Return category -> item -> answer as answers of one category; items of one name in two of them stay apart."""
    return {(item[0], category, *item[1:]): of for category, found in answers.items() for item, of in found.items()}


def part_most(judged: Mapping[Item, Judged], count: int) -> list[tuple[Item, Judged]]:
    """Return the answers on which the scores by the judge and by rule differ, the largest differences first."""
    differing = {item: abs(of.judge - of.rule) for item, of in judged.items() if abs(of.judge - of.rule) > 0}
    return [(item, judged[item]) for item in sorted(differing, key=lambda item: (-differing[item], item))[:count]]


def _ratings(answers: Sequence[Judged]) -> np.ndarray:
    """Return the scores of all draws, shape (answers, draws); NaN for one that is missing or not readable."""
    ratings = np.full((len(answers), max((len(of.scores) for of in answers), default=0)), np.nan)
    for row, of in zip(ratings, answers, strict=True):
        row[: len(of.scores)] = of.scores
    return ratings


def _share(values: Sequence[float]) -> float:
    known = [float(value) for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
