"""Score the systems of a suite: mean, interval and rank per category, and SIQ if the suite has a scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from speechiq.reducer.runs.conditions import Mismatch
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.samples import FLOOR
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.bootstrap import resample_alone, resample_raw
from speechiq.reducer.scores.comparability import intersect
from speechiq.reducer.scores.derived import DerivedColumns, pool_columns
from speechiq.reducer.scores.groups import split_groups
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.ranking import Ranking
from speechiq.reducer.scores.remarks import Remarks, observe
from speechiq.reducer.scores.scale import competition_ranks
from speechiq.reducer.scores.score_matrix import ScoreMatrix, align
from speechiq.reducer.stats.coverage import caution, caution_of_raw
from speechiq.reducer.stats.interval import Interval


class Bars(NamedTuple):
    """Error bars of mean raw scores.

    Attributes:
        draws: Number of draws.
        left_out: Number of draws without any clip of some category; they do not count. It is that of the systems with
            most of them, if systems have scores on different clips.
        seed: Seed of the draws.
        intervals: Column -> 95 % interval of the mean raw score; NaN for a system with fewer than two clips.
        std: Column -> its standard error, shape (systems,).
    """

    draws: int
    left_out: int
    seed: int
    intervals: dict[str, Interval]
    std: dict[str, np.ndarray]

    def join(self, intervals: Mapping[str, Interval], std: Mapping[str, np.ndarray]) -> Bars:
        """Return the error bars with those of further columns."""
        return self._replace(intervals={**self.intervals, **intervals}, std={**self.std, **std})


class Scoreboard(NamedTuple):
    """The scores of a suite; arrays of shape (systems,) are in the order of the pool.

    A column is a category, or one of `further`, which do not count for ranks.

    Attributes:
        suite: Name of the suite.
        pool: The systems, aligned.
        systems: The same systems, with the items that are scored.
        mismatches: How they differ, if that was allowed.
        further: The further columns.
        means: Column -> mean raw score, which grows with ability; NaN for a system without any score.
        ranks: Category -> rank from 1; equal systems share the best rank of their group. NaN without a score.
        bars: Error bars; None without draws.
        remarks: The size of the categories, and which numbers say little.
        reliability: Category with a judge -> the reliability of its judge on each system's answers, in the order of
            the pool (`judges.reliability.add_reliability`).
        ranking: What the scale of SIQ adds: Z and SIQ; None for a suite without a scale.
    """

    suite: str
    pool: ScoreMatrix
    systems: tuple[System, ...]
    mismatches: tuple[Mismatch, ...]
    further: DerivedColumns
    means: dict[str, np.ndarray]
    ranks: dict[str, np.ndarray]
    bars: Bars | None
    remarks: Remarks
    reliability: Mapping[str, Sequence[Any]] = MappingProxyType({})
    ranking: Ranking | None = None

    @property
    def columns(self) -> dict[str, Category]:
        """Return column -> how it is scored: the categories, then the further columns."""
        return {**self.pool.levels, **self.further.levels}

    @property
    def fields(self) -> list[str]:
        """Return the fields by which the items of some category have kinds (`group_by`)."""
        return list(dict.fromkeys(field for of in self.pool.levels.values() for field in of.group_by))

    def holder(self, column: str, row: int) -> System:
        """Return the system of a row, with the items of a column in its scores."""
        return (self.further.systems if column in self.further.levels else self.systems)[row]

    @property
    def mean_ranks(self) -> np.ndarray:
        """Return the mean of each system's ranks over the categories, NaN if one is NaN, shape (systems,)."""
        mean: np.ndarray = np.mean(list(self.ranks.values()), axis=0)
        return mean

    @property
    def has_siq(self) -> bool:
        """Return whether the categories are combined to SIQ."""
        return self.ranking is not None and not bool(np.isnan(self.ranking.scores.siq).all())

    @property
    def order(self) -> list[int]:
        """Return the rows of the systems by rank, then by name; those without a rank are last.

        The rank is that of SIQ if the suite has a scale (equal for all without SIQ), else the mean rank.
        """
        ranks = self.ranking.scores.ranks if self.ranking else self.mean_ranks
        return [int(row) for row in np.lexsort((np.array(self.pool.systems), ranks))]

    def list_mismatches(self, row: int) -> list[str]:
        """Return how the system of a row differs from the others or from norms, in words."""
        return [mismatch.text for mismatch in self.mismatches if mismatch.system == self.pool.systems[row]]

    @property
    def floors(self) -> dict[str, float]:
        """Return category -> mean score of a constant answer, for usual columns whose rows have a floor."""
        first, found = self.systems[0], dict[str, list[float]]()
        usual = [level for level, of in self.pool.levels.items() if of.usual is None]
        for table in first.tables:
            if (level := table.level) in usual:
                rows = table.column(FLOOR).items()
                found.setdefault(level, []).extend(value for item, value in rows if item in first.scores[level])
        return {level: sum(values) / len(values) for level, values in found.items() if values}

    @property
    def caution(self) -> str | None:
        """Return the caution about intervals from few clips; None from 50 clips on, or without intervals."""
        words = caution if self.ranking else caution_of_raw
        return words(min(map(len, self.pool.clips.values()))) if self.bars else None


def from_ranking(ranking: Ranking) -> Scoreboard:
    """Return the scoreboard of SIQ: that of its levels, with what the scale adds."""
    context, bootstrap = ranking.context, ranking.context.bootstrap
    bars = None
    if bootstrap:
        bars = Bars(bootstrap.draws, bootstrap.left_out, bootstrap.seed, bootstrap.raw, bootstrap.raw_std)
    derived = pool_columns(context.systems)
    board = _build(SIQ, ranking.pool, context.systems, context.mismatches, derived, bars, context.remarks)
    means = {level: scores.raw for level, scores in ranking.scores.levels.items()}
    return board._replace(means=board.means | means, ranking=ranking)


def rate(
    suite: str, systems: Iterable[System], *, allow_mismatch: bool = False, draws: int = 0, seed: int = 0
) -> Scoreboard:
    """Score the systems of one suite, category by category.

    Args:
        suite: Name of the suite.
        systems: As `read_tasks` returns them.
        allow_mismatch: Whether systems may have been run on different clips, questions or task versions. What they
            share is scored then, and the scoreboard names the mismatches.
        draws: Number of bootstrap draws; 0 leaves out the error bars.
        seed: Seed of the draws.

    Raises:
        SpeechIQError: Systems differ in clips, questions or tasks and that is not allowed, or cannot be scored.
    """
    kept, mismatches = intersect(sorted(systems, key=lambda system: system.name), allow_mismatch)
    pool, further = align(kept), pool_columns(kept)
    bars = None
    if draws:
        of_further = resample_alone(further.pool, pool, draws=draws, seed=seed)
        bars = Bars(draws, *resample_raw(pool, draws=draws, seed=seed)).join(*of_further)
    return _build(suite, pool, kept, mismatches, further, bars, observe(pool, kept))


def rate_groups(scoreboard: Scoreboard, field: str, *, draws: int = 0, seed: int = 0) -> Scoreboard:
    """Score the items of each kind by itself; the kinds are the categories of the scoreboard.

    Args:
        scoreboard: The scores of all items.
        field: One of `group_by` of the categories.
        draws: As for `rate`.
        seed: As for `rate`; with equal seeds, the draws are of the same clips.

    Raises:
        SpeechIQError: As for `kinds.split_groups`.
    """
    kept = split_groups(scoreboard.systems, field)
    pool = align(kept)
    bars = Bars(draws, 0, seed, *resample_alone(pool, scoreboard.pool, draws=draws, seed=seed)) if draws else None
    return _build(scoreboard.suite, pool, kept, scoreboard.mismatches, pool_columns(kept), bars, observe(pool, kept))


def _build(
    suite: str,
    pool: ScoreMatrix,
    systems: Sequence[System],
    mismatches: Sequence[Mismatch],
    further: DerivedColumns,
    bars: Bars | None,
    remarks: Remarks,
) -> Scoreboard:
    return Scoreboard(
        suite,
        pool,
        tuple(systems),
        tuple(mismatches),
        further,
        pool.means | further.pool.means,
        {category: _ranks(scores) for category, scores in pool.means.items()},
        bars,
        remarks,
    )


def _ranks(scores: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(scores), np.nan, competition_ranks(np.nan_to_num(scores, nan=-np.inf)))
