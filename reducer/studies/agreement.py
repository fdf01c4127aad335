"""Measure how far raters of the same items agree, and how far a judge can be trusted on its own scores.

Raters are two judges, a judge and a person, or two sources of labels. A judge alone shows gaps, the agreement of its
draws, how its scores go with the length of answers, and whether it prefers an answer of a pair for its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.columns import mean
from speechiq.reducer.runs.judged import JUDGE_KEYS, Judged, name_judges
from speechiq.reducer.runs.samples import show_item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.table import Item
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.stats import agreement
from speechiq.reducer.stats.agreement import compare_raters
from speechiq.reducer.stats.bootstrap import NO_CLUSTERS, Statistic, describe_samples, estimate_share, resample
from speechiq.reducer.stats.estimate import UNDEFINED, Estimate
from speechiq.reducer.stats.grid import Column, Grid, Important, name_units
from speechiq.reducer.studies.result import StudyResult

if TYPE_CHECKING:
    from speechiq.metrics.judge.judging import PairJudgment

Key = TypeVar("Key", str, tuple[str, Item])

#: Columns of what `compare_raters` returns.
STATISTICS = {
    column.name: column
    for column in (
        Column("equal", "Equal %", ".1f", factor=100),
        Column("kappa", "Kappa", ".2f"),
        Column("alpha", "Alpha", ".2f"),
        Column("spearman", "Spearman", ".2f"),
        Column("pearson", "Pearson", ".2f"),
        Column("bias", "Bias", "+.2f"),
    )
}
RATERS = (Column("a", "A"), Column("b", "B"), Column("items", "Items", "d"))
ALL = "all systems"
FIX = "judge the stored answers of one run again: `siq judge run RUNS --judge ENGINE:MODEL`"
MEANINGS = (
    "scores in percent of the rubric's scale; answers that one of the judges left unjudged are left out",
    "Bias: mean of A - B, above 0 if A is more generous",
    "Kappa: Cohen's, quadratic weights; Alpha: Krippendorff's; 1 full agreement, 0 that of chance",
    "Spearman: rank correlation; Pearson: linear correlation; Equal: answers with equal scores",
    "two judges can agree and both be wrong: `siq judge check` compares a judge with people",
)


#: The clip of an answer, and what A and what B made of the answer.
AnswerPair = tuple[str, Judged, Judged]
#: Name of the reliability over all categories.
POOLED = "every_category"


def compare_each_pair(
    raters: Iterable[tuple[str, Mapping[Key, float]]],
    clip_of: Callable[[Key], str],
    clusters: Mapping[str, str] = NO_CLUSTERS,
    *,
    fewest: int = 1,
    ordinal: bool = False,
    draws: int,
) -> list[dict[str, Any]]:
    """Return a record for each two raters: their names `a` and `b`, the number of `items`, and their agreement.

    Pairs with fewer than `fewest` items that both scored are left out. Alpha is that of the `ordinal` scale or of
    the interval scale. Intervals come from draws of the clips of the items, which `clip_of` names, or of their
    `clusters`; 0 draws leave them out.
    """
    records = []
    for (name_a, scores_a), (name_b, scores_b) in combinations(raters, 2):
        keys = sorted(scores_a.keys() & scores_b.keys())
        if len(keys) >= fewest:
            a = np.array([float(scores_a[key]) for key in keys])
            b = np.array([float(scores_b[key]) for key in keys])
            clips = [clip_of(key) for key in keys]
            agreement = compare_raters(a, b, clips, clusters, ordinal=ordinal, draws=draws)
            records.append({"a": name_a, "b": name_b, "items": len(keys), **agreement})
    return records


def agreement_grid(
    title: str,
    rows: Sequence[Mapping[str, Any]],
    statistics: Sequence[str],
    notes: Sequence[str] = (),
    names: Sequence[Column] = RATERS,
) -> Grid:
    """Return a grid of records with what `compare_raters` returns: columns that name each row, then `statistics`."""
    return Grid(title, [*names, *(STATISTICS[name] for name in statistics)], rows, notes)


def compare_judges(runs_a: Found, runs_b: Found, *, draws: int, allow_mismatch: bool = False) -> StudyResult:
    """Return the agreement of two judges of the same answers: for each suite and category of all systems, then of each.

    A record has the number of `answers` that both have judged, over which means and agreement are, and of those without
    a score of A and of B. Scores are shares of the scale, 0 to 1, since the judges may have different rubrics. Alpha is
    that of the `ordinal` scale for whole grades, else of the interval scale.

    Answers that differ between the runs are left out if `allow_mismatch`, else refused.
    """
    agreements: list[dict[str, Any]] = []
    equal: dict[str, str] = {}
    for suite in runs_a.levels:
        if suite in runs_b.levels:
            side_a = {system.name: system for system in runs_a.read(suite)}
            side_b = {system.name: system for system in runs_b.read(suite)}
            for name, category in runs_a.levels[suite].items():
                if category.judged and name in runs_b.levels[suite]:
                    agreements += _compare_category(suite, name, side_a, side_b, draws, allow_mismatch, equal)
    if equal and not agreements:
        name, judge = next(iter(equal.items()))
        raise SpeechIQError(f"category {name}", f"both sides were {judge} with equal settings", FIX)
    if not agreements:
        suites = " and ".join(", ".join(runs.levels) for runs in (runs_a, runs_b))
        raise SpeechIQError(f"no answer has a score of both judges (suites {suites})", fix=FIX)
    return StudyResult(
        "speechiq-inter-judge-agreement",
        [_inter_judge_grid(agreements, equal, draws)],
        {"agreements": agreements, "equal_settings": [*equal], "draws": draws, "seed": 0},
        agreements,
        tasks=[*runs_a.all_tasks, *runs_b.all_tasks],
    )


def _compare_category(
    suite: str,
    category: str,
    side_a: Mapping[str, System],
    side_b: Mapping[str, System],
    draws: int,
    allow_mismatch: bool,
    equal: dict[str, str],
) -> Iterator[dict[str, Any]]:
    """Yield the records of a category; none if both sides were judged with equal settings, and then add it to `equal`.

    `equal` is category -> the judge in words.
    """
    sides = side_a, side_b
    shared = [name for name in side_a if _has_scores(name, category, side_a) and _has_scores(name, category, side_b)]
    if not shared:
        return
    judges: list[str] = []
    settings: list[set[str]] = []
    for side in sides:
        tasks = [task for name in shared for task in side[name].tasks_at(category)]
        judges.append(name_judges(tasks))
        settings.append({repr([*map(task.metadata.get, JUDGE_KEYS)]) for task in tasks})
    if settings[0] & settings[1]:
        equal[category] = judges[0]
        return
    groups = {name: _pair_answers(side_a[name], side_b[name], category, allow_mismatch) for name in shared}
    if len(groups) > 1:
        groups = {ALL: [*chain.from_iterable(groups.values())]} | groups
    systems = [system for side in sides for system in side.values()]
    clusters = {clip: cluster for system in systems for clip, cluster in system.clusters.items()}
    for name, pairs in groups.items():
        rated = [(clip, a, b) for clip, a, b in pairs if not (a.unjudged or b.unjudged)]
        if not rated:
            continue
        scores_a, scores_b = np.array([a.judge for _, a, _ in rated]), np.array([b.judge for _, _, b in rated])
        points = np.array([judged.points for _, *both in rated for judged in both])
        ordinal = bool((points == np.round(points)).all())
        clips = [clip for clip, *_ in rated]
        agreement = compare_raters(scores_a, scores_b, clips, clusters, ordinal=ordinal, draws=draws)
        yield {
            "suite": suite,
            "category": category,
            "system": name,
            "judge_a": judges[0],
            "judge_b": judges[1],
            "answers": len(rated),
            "unjudged_a": sum(a.unjudged for _, a, _ in pairs),
            "unjudged_b": sum(b.unjudged for _, _, b in pairs),
            "mean_a": float(scores_a.mean()),
            "mean_b": float(scores_b.mean()),
            "ordinal": ordinal,
            **agreement,
        }


def _has_scores(name: str, category: str, systems: Mapping[str, System]) -> bool:
    return name in systems and category in systems[name].scores


def _pair_answers(system_a: System, system_b: System, category: str, allow_mismatch: bool) -> list[AnswerPair]:
    a, b = system_a.scored_answers(category), system_b.scored_answers(category)
    shared = [item for item in a if item in b]
    differing = {item: None for item in shared if a[item].answer != b[item].answer}
    if differing and not allow_mismatch:
        raise SpeechIQError(
            f"category {category}",
            f"{len(differing)} of {len(shared)} answers of system {system_a.name!r} differ between the two sides, such "
            f"as {show_item(next(iter(differing)))}, so that judges cannot be compared on them",
            f"{FIX}, or add --allow-mismatch to leave them out",
        )
    return [(item[0], a[item], b[item]) for item in shared if item not in differing]


def _inter_judge_grid(agreements: Sequence[Mapping[str, Any]], equal: Iterable[str], draws: int) -> Grid:
    """Return a grid with a row per category and system; `draws` are those of the intervals.

    `equal` are the categories that both sides had judged with equal settings.
    """
    names = [
        Column("title", "Category"),
        Column("system", "System"),
        Column("answers", "Answers", "d"),
        Column("mean_a", "A %", ".2f", factor=100),
        Column("mean_b", "B %", ".2f", factor=100),
        Column("unjudged_a", "Unjudged\nA", "d"),
        Column("unjudged_b", "B", "d", below="unjudged_a"),
    ]
    judges = {(title(row["category"]), row["judge_a"], row["judge_b"], row["ordinal"]) for row in agreements}
    notes = [
        f"{category}: A {a}; B {b}; alpha for the {'ordinal' if ordinal else 'interval'} scale"
        for category, a, b, ordinal in sorted(judges)
    ]
    notes += [Important(f"{title(name)}: left out, judged with equal settings on both sides") for name in equal]
    notes += MEANINGS
    if draws:
        notes.append(describe_samples(draws, 0, name_units(row["bias"] for row in agreements)))
    rows = [{**row, "title": title(row["category"]), "bias": row["bias"].map(100.0)} for row in agreements]
    statistics = ("bias", "kappa", "alpha", "spearman", "pearson", "equal")
    return agreement_grid("Inter-judge agreement", rows, statistics, notes, names)


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


def measure_reliability(
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
    judged: dict[str, list[dict[Item, Judged]]] = {}
    for category in scoreboard.pool.raw:
        answers = [system.scored_answers(category) for system in scoreboard.systems]
        if any(answers):
            judged[category] = answers
    judges = {name_judges(system.tasks_at(*judged)) for system in scoreboard.systems}
    if len(judged) > 1 and not any(";" in names for names in judges):
        by_system = [dict(zip(judged, answers, strict=True)) for answers in zip(*judged.values(), strict=True)]
        judged[POOLED] = [join_categories(answers) for answers in by_system]
    measure = partial(measure_reliability, clusters=scoreboard.pool.clusters, draws=draws, seed=seed)
    reliability = {category: list(map(measure, answers)) for category, answers in judged.items()}
    return scoreboard._replace(reliability=reliability)


def join_categories(answers: Mapping[str, Mapping[Item, Judged]]) -> dict[Item, Judged]:
    """Return category -> item -> answer as answers of one category; items of one name in two of them stay apart."""
    return {(item[0], name, *item[1:]): answer for name, items in answers.items() for item, answer in items.items()}


def largest_disagreements(judged: Mapping[Item, Judged], count: int) -> list[tuple[Item, Judged]]:
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


class PositionBias(NamedTuple):
    """Hold the influence of the order on a judge's verdicts.

    Attributes:
        unjudged: Share of draws without a verdict in one of the orders; they do not count further.
        changed: Share of draws whose verdict changes with the order.
        reversed: Share of draws in which another answer wins in the other order.
        first: Share of the verdicts with a winner in which the first place wins; 0.5 without a preference.
    """

    pairs: int
    unjudged: float
    changed: Estimate
    reversed: Estimate
    first: Estimate


def measure_position_bias(
    pairs: Sequence[PairJudgment], clips: Sequence[str], clusters: Mapping[str, str] = NO_CLUSTERS
) -> PositionBias:
    """Return the position bias of a judge on the pair of each clip; shares have intervals (`estimate_share`).

    >>> from types import SimpleNamespace as Pair
    >>> pairs = [Pair(shown_first=(1.0,), shown_second=(-1.0,)), Pair(shown_first=(1.0,), shown_second=(1.0,))]
    >>> bias = measure_position_bias(pairs, ["a", "b"])
    >>> bias.changed.value, bias.first.value
    (0.5, 0.75)
    """
    rows = [_count(np.array(pair.shown_first), np.array(pair.shown_second)) for pair in pairs]
    draws, judged, changed, turned, won, first = np.array(rows, float).reshape(len(rows), 6).T
    unjudged = 1 - float(judged.sum()) / float(draws.sum()) if draws.sum() else math.nan
    sums = (changed, judged), (turned, judged), (first, won)
    shares = (estimate_share(*counts, clips, clusters) for counts in sums)
    return PositionBias(len(rows), unjudged, *shares)


def _count(shown_first: np.ndarray, shown_second: np.ndarray) -> tuple[int, ...]:
    """Count the draws of a pair (all, judged, changed, reversed) and its verdicts (with a winner, for the first)."""
    judged = ~(np.isnan(shown_first) | np.isnan(shown_second))
    a, b = shown_first[judged], shown_second[judged]
    won, first = (a != 0).sum() + (b != 0).sum(), (a > 0).sum() + (b < 0).sum()
    return len(judged), len(a), int((a != b).sum()), int((a * b < 0).sum()), int(won), int(first)
