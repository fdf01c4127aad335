"""Measure how far two judges agree on the same answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.judge_name import KEYS, name_judges
from speechiq.reducer.runs.judged import Judged
from speechiq.reducer.runs.rows import Item, show_item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.stats import agreement
from speechiq.reducer.stats.bootstrap import bootstrap, describe_samples
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import Column, Grid

ALL = "all systems"
FIX = "judge the stored answers of one run again: `siq judge run RUNS --judge ENGINE:MODEL`"


class JudgeAgreement(NamedTuple):
    """The agreement of judges A and B on the answers of one system, or of all.

    Scores are shares of the scale, 0 to 1, since the judges may have different rubrics.

    Attributes:
        suite: Name of the suite.
        category: Name of the category.
        system: Name of the system, or `ALL`.
        judge_a, judge_b: The judges in words.
        answers: Number of answers that both have judged.
        unjudged_a, unjudged_b: Number of answers without a score of A and of B.
        mean_a, mean_b: Mean scores of the answers that both have judged.
        bias: Mean of the score of A minus that of B.
        kappa: Cohen's kappa with quadratic weights.
        alpha: Krippendorff's alpha.
        ordinal: Whether alpha is that of the ordinal scale, as for whole grades; else of the interval scale.
        spearman: Rank correlation.
        equal: Share of answers with equal scores.
    """

    suite: str
    category: str
    system: str
    judge_a: str
    judge_b: str
    answers: int
    unjudged_a: int
    unjudged_b: int
    mean_a: float
    mean_b: float
    bias: Estimate
    kappa: Estimate
    alpha: Estimate
    ordinal: bool
    spearman: Estimate
    equal: float


class Pairs(NamedTuple):
    """Answers of one or several systems, each with what A and what B made of it."""

    clips: list[str]
    judged: list[tuple[Judged, Judged]]

    @property
    def both(self) -> list[int]:
        """Return the places of the answers that have a score of A and of B."""
        return [i for i, (a, b) in enumerate(self.judged) if not a.unjudged and not b.unjudged]


def compare(
    one: Found, other: Found, *, draws: int, seed: int = 0, allow_mismatch: bool = False
) -> list[JudgeAgreement]:
    """Return the agreement of two judges: for each suite and category of all systems, then of each.

    Args:
        one: Runs judged by A.
        other: The same answers, judged by B.
        draws: Number of draws of clips for the intervals; 0 leaves them out.
        seed: Seed of the draws.
        allow_mismatch: Whether to leave out answers that differ between the runs.

    Raises:
        SpeechIQError: The runs share no judged answers, have one judge, or have different answers.
    """
    found: list[JudgeAgreement] = []
    for suite in one.levels:
        if suite in other.levels:
            sides = tuple({system.name: system for system in of.read(suite)} for of in (one, other))
            categories = [name for name, of in one.levels[suite].items() if of.judged and name in other.levels[suite]]
            for category in categories:
                found += _category(suite, category, sides[0], sides[1], draws, seed, allow_mismatch)
    if not found:
        suites = " and ".join(", ".join(of.levels) for of in (one, other))
        raise SpeechIQError(f"no answer has a score of both judges (suites {suites}); {FIX}")
    return found


def _category(
    suite: str,
    category: str,
    one: Mapping[str, System],
    other: Mapping[str, System],
    draws: int,
    seed: int,
    allow_mismatch: bool,
) -> Iterator[JudgeAgreement]:
    shared = [name for name in one if name in other and category in one[name].scores and category in other[name].scores]
    if not shared:
        return
    tasks = [[task for name in shared for task in side[name].tasks if task.level == category] for side in (one, other)]
    _refuse_one_judge(category, *tasks)
    a, b = (name_judges(of) for of in tasks)
    pairs = {name: _pair(one[name], other[name], category, allow_mismatch) for name in shared}
    clips, judged = (list(chain.from_iterable(of)) for of in zip(*pairs.values(), strict=True))
    groups = {ALL: Pairs(clips, judged)} | pairs if len(pairs) > 1 else pairs
    for name, of in groups.items():
        if of.both:
            yield _measure(suite, category, name, a, b, of, draws, seed)


def _refuse_one_judge(category: str, one: Sequence[Any], other: Sequence[Any]) -> None:
    """Raise a `SpeechIQError` if the runs of both sides record equal settings of their judge."""
    sides = [{tuple(repr(task.metadata.get(key)) for key in KEYS) for task in tasks} for tasks in (one, other)]
    if sides[0] & sides[1]:
        raise SpeechIQError(f"category {category}: both sides were {name_judges(one)} with equal settings; {FIX}")


def _pair(one: System, other: System, category: str, allow_mismatch: bool) -> Pairs:
    a, b = one.scored_answers(category), other.scored_answers(category)
    both = [item for item in a if item in b]
    differing = [item for item in both if a[item].answer != b[item].answer]
    if differing and not allow_mismatch:
        raise SpeechIQError(
            f"category {category}: {len(differing)} of {len(both)} answers of system {one.name!r} differ between the "
            f"two sides, such as {show_item(differing[0])}, so that judges cannot be compared on them; {FIX}, or add "
            "--allow-mismatch to leave them out"
        )
    kept: list[Item] = [item for item in both if item not in set(differing)]
    return Pairs([item[0] for item in kept], [(a[item], b[item]) for item in kept])


def _measure(
    suite: str, category: str, system: str, a: str, b: str, pairs: Pairs, draws: int, seed: int
) -> JudgeAgreement:
    kept = pairs.both
    one, other = (np.array([pairs.judged[i][side].judge for i in kept]) for side in (0, 1))
    points = np.array([of.points for i in kept for of in pairs.judged[i]])
    ordinal = bool((points == np.round(points)).all())
    over = partial(bootstrap, clusters=[pairs.clips[i] for i in kept], draws=draws, seed=seed)
    ratings = np.column_stack([one, other])
    once = np.ones((1, len(kept)))
    return JudgeAgreement(
        suite,
        category,
        system,
        a,
        b,
        answers=len(kept),
        unjudged_a=sum(both[0].unjudged for both in pairs.judged),
        unjudged_b=sum(both[1].unjudged for both in pairs.judged),
        mean_a=float(one.mean()),
        mean_b=float(other.mean()),
        bias=over(partial(agreement.mean_difference, one, other)),
        kappa=over(partial(agreement.weighted_kappa, one, other)),
        alpha=over(partial(agreement.krippendorff, ratings, ordinal=ordinal)),
        ordinal=ordinal,
        spearman=over(partial(agreement.spearman, one, other)),
        equal=float(agreement.share_equal(ratings, once)[0]),
    )


MEANINGS = (
    "scores in percent of the rubric's scale; answers that one of the judges left unjudged are left out",
    "A - B: mean difference, above 0 if A is more generous",
    "Kappa: Cohen's, quadratic weights; Alpha: Krippendorff's; 1 full agreement, 0 that of chance",
    "Spearman: rank correlation; Equal: answers with equal scores",
    "two judges can agree and both be wrong: `siq judge check` compares a judge with people",
)


def as_grid(agreements: Sequence[JudgeAgreement], draws: int, seed: int) -> Grid:
    """Return a grid with a row per category and system.

    Args:
        agreements: The agreements.
        draws: Number of draws for the intervals.
        seed: Seed of the draws.
    """
    columns = [
        Column("title", "Category"),
        Column("system", "System"),
        Column("answers", "Answers", "d"),
        Column("mean_a", "A %", ".2f", factor=100),
        Column("mean_b", "B %", ".2f", factor=100),
        Column("bias", "A - B", "+.2f", factor=100),
        Column("kappa", "Kappa", ".2f"),
        Column("alpha", "Alpha", ".2f"),
        Column("spearman", "Spearman", ".2f"),
        Column("equal", "Equal %", ".1f", factor=100),
        Column("unjudged_a", "Unjudged\nA", "d"),
        Column("unjudged_b", "B", "d", below="unjudged_a"),
    ]
    judges = {(title(of.category), of.judge_a, of.judge_b, of.ordinal) for of in agreements}
    notes = [
        f"{category}: A {a}; B {b}; alpha for the {'ordinal' if ordinal else 'interval'} scale"
        for category, a, b, ordinal in sorted(judges)
    ]
    bars = [describe_samples(draws, seed)] if draws else []
    rows = [of._asdict() | {"title": title(of.category)} for of in agreements]
    return Grid("Agreement of two judges", columns, rows, [*notes, *MEANINGS, *bars])
