"""Score the systems of a suite that has no scale of its own: mean, interval and rank per category."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from speechiq.reducer.runs.conditions import Mismatch
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.samples import FLOOR
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.bootstrap import resample_alone, resample_raw
from speechiq.reducer.scores.comparability import narrow
from speechiq.reducer.scores.derived import Further, pool_columns
from speechiq.reducer.scores.groups import split_kinds
from speechiq.reducer.scores.remarks import Remarks, observe
from speechiq.reducer.scores.scale import competition_ranks
from speechiq.reducer.scores.score_matrix import Pool, align
from speechiq.reducer.stats.coverage import caution_of_raw
from speechiq.reducer.stats.interval import Interval
from speechiq.reducer.studies.judges.reliability import Reliability, measure


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


class Board(NamedTuple):
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
            the pool.
    """

    suite: str
    pool: Pool
    systems: tuple[System, ...]
    mismatches: tuple[Mismatch, ...]
    further: Further
    means: dict[str, np.ndarray]
    ranks: dict[str, np.ndarray]
    bars: Bars | None
    remarks: Remarks
    reliability: Mapping[str, Sequence[Reliability]] = MappingProxyType({})

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
    def order(self) -> list[int]:
        """Return the rows of the systems, lowest mean rank first, then by name; those without a mean rank are last."""
        return [int(row) for row in np.lexsort((np.array(self.pool.systems), self.mean_ranks))]

    @property
    def floors(self) -> dict[str, float]:
        """Return category -> mean score of a constant answer, for usual columns whose rows have a floor."""
        first, found = self.systems[0], dict[str, list[float]]()
        usual = [level for level, of in self.pool.levels.items() if of.usual is None]
        for level, items, columns in first.flag_values:
            if FLOOR in columns and level in usual:
                rows = zip(items, columns[FLOOR].tolist(), strict=True)
                found.setdefault(level, []).extend(value for item, value in rows if item in first.scores[level])
        return {level: sum(values) / len(values) for level, values in found.items() if values}

    @property
    def caution(self) -> str | None:
        """Return the caution about intervals from few clips; None from 50 clips on, or without intervals."""
        return caution_of_raw(min(map(len, self.pool.clips.values()))) if self.bars else None


def rate(
    suite: str, systems: Iterable[System], *, allow_mismatch: bool = False, draws: int = 0, seed: int = 0
) -> Board:
    """Score the systems of one suite, category by category.

    Args:
        suite: Name of the suite.
        systems: As `read_tasks` returns them.
        allow_mismatch: Whether systems may have been run on different clips, questions or task versions. What they
            share is scored then, and the board names the mismatches.
        draws: Number of bootstrap draws; 0 leaves out the error bars.
        seed: Seed of the draws.

    Raises:
        SpeechIQError: Systems differ in clips, questions or tasks and that is not allowed, or cannot be scored.
    """
    kept, mismatches = narrow(sorted(systems, key=lambda system: system.name), allow_mismatch)
    pool, further = align(kept), pool_columns(kept)
    bars = None
    if draws:
        of_further = resample_alone(further.pool, pool, draws=draws, seed=seed)
        bars = Bars(draws, *resample_raw(pool, draws=draws, seed=seed)).join(*of_further)
    answers = {category: [system.scored_answers(category) for system in kept] for category in pool.levels}
    reliability = {
        category: [measure(of, draws=draws, seed=seed) for of in judged]
        for category, judged in answers.items()
        if any(judged)
    }
    return _build(suite, pool, kept, mismatches, further, bars)._replace(reliability=reliability)


def rate_kinds(board: Board, field: str, *, draws: int = 0, seed: int = 0) -> Board:
    """Score the items of each kind by itself; the kinds are the categories of the board.

    Args:
        board: The scores of all items.
        field: One of `group_by` of the categories.
        draws: As for `rate`.
        seed: As for `rate`; with equal seeds, the draws are of the same clips.

    Raises:
        SpeechIQError: As for `kinds.split_kinds`.
    """
    kept = split_kinds(board.systems, field)
    pool = align(kept)
    bars = Bars(draws, 0, seed, *resample_alone(pool, board.pool, draws=draws, seed=seed)) if draws else None
    return _build(board.suite, pool, kept, board.mismatches, pool_columns(kept), bars)


def _build(
    suite: str,
    pool: Pool,
    systems: Sequence[System],
    mismatches: Sequence[Mismatch],
    further: Further,
    bars: Bars | None,
) -> Board:
    """Return a board without the reliability of a judge."""
    return Board(
        suite,
        pool,
        tuple(systems),
        tuple(mismatches),
        further,
        pool.means | further.pool.means,
        {category: _ranks(scores) for category, scores in pool.means.items()},
        bars,
        observe(pool, systems),
    )


def _ranks(scores: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(scores), np.nan, competition_ranks(np.nan_to_num(scores, nan=-np.inf)))
