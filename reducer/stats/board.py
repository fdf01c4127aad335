"""Score the systems of a suite that has no scale of its own: mean, interval and rank per category."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from speechiq.reducer.judges.reliability import Reliability, measure
from speechiq.reducer.read.conditions import Mismatch
from speechiq.reducer.read.runs import System
from speechiq.reducer.read.samples import FLOOR
from speechiq.reducer.show.remarks import Remarks, observe
from speechiq.reducer.siq.scale import competition_ranks
from speechiq.reducer.stats.bootstrap import resample_raw
from speechiq.reducer.stats.coverage import caution_of_raw
from speechiq.reducer.stats.equal_terms import narrow
from speechiq.reducer.stats.interval import Interval
from speechiq.reducer.stats.pool import Pool, align


class Bars(NamedTuple):
    """Error bars of mean raw scores.

    Attributes:
        draws: Number of draws.
        left_out: Number of draws without any clip of some category; they do not count. It is that of the systems with
            most of them, if systems have scores on different clips.
        seed: Seed of the draws.
        intervals: Category -> 95 % interval of the mean raw score; NaN for a system with fewer than two clips.
        std: Category -> its standard error, shape (systems,).
    """

    draws: int
    left_out: int
    seed: int
    intervals: dict[str, Interval]
    std: dict[str, np.ndarray]


class Board(NamedTuple):
    """The scores of a suite; arrays of shape (systems,) are in the order of the pool.

    Attributes:
        suite: Name of the suite.
        pool: The systems, aligned.
        systems: The same systems, with the items that are scored.
        mismatches: How they differ, if that was allowed.
        means: Category -> mean raw score, which grows with ability; NaN for a system without any score.
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
    means: dict[str, np.ndarray]
    ranks: dict[str, np.ndarray]
    bars: Bars | None
    remarks: Remarks
    reliability: Mapping[str, Sequence[Reliability]] = MappingProxyType({})

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
    pool = align(kept)
    means = pool.means
    ranks = {category: _ranks(scores) for category, scores in means.items()}
    bars = Bars(draws, *resample_raw(pool, draws=draws, seed=seed)) if draws else None
    answers = {category: [system.scored_answers(category) for system in kept] for category in pool.levels}
    reliability = {
        category: [measure(of, draws=draws, seed=seed) for of in judged]
        for category, judged in answers.items()
        if any(judged)
    }
    return Board(suite, pool, tuple(kept), tuple(mismatches), means, ranks, bars, observe(pool, kept), reliability)


def _ranks(scores: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(scores), np.nan, competition_ranks(np.nan_to_num(scores, nan=-np.inf)))
