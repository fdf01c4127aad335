"""Compute curves of scores over the strength of a condition: losses, slopes and crossings, with paired intervals.

All runs are scored on the same clips, and intervals come from one set of draws of these clips or their clusters, with
replacement: percentiles of what the draws give (`stats.bootstrap`). Shares and grades have intervals of their own
(`proportion`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.reducer.scores.bootstrap import estimate_means
from speechiq.reducer.scores.draws import Clips, draw
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.scale import Scale, calibrate, score
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.stats.bootstrap import Resampled, resample
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.studies.robustness.series import Paths, SeriesRun

#: A slope per this many units of a strength, by unit; of all others, per 1.
PER = {"dB": 10.0, "k": 10.0, "Hz": 1000.0}
#: Systems on clean audio that a scale of SIQ needs: of two, one always has the mean plus one deviation.
FEWEST = 3


class Measured(NamedTuple):
    """Hold the scores of all runs in one measure: a category of the suite, or `siq`.

    Attributes:
        sign: 1 if a higher score is better, else -1.
        scores: Score of each run with its interval, as people read it.
        drawn: The scores of all runs in every draw, shape (1 + draws, runs).
    """

    name: str
    unit: str
    sign: float
    scores: list[Estimate]
    drawn: Resampled


class Point(NamedTuple):
    """Hold a run of a system, its score, and how much worse the score is than on clean audio, paired by clip."""

    run: SeriesRun
    score: Estimate
    loss: Estimate


class Curve(NamedTuple):
    """Hold the scores of one system over the strengths of one series.

    Attributes:
        points: From clean audio to the severest condition.
        slope: Change of the score per `per` units of the strength, by least squares over the strengths; NaN with fewer
            than two.
    """

    measure: str
    unit: str
    direction: Literal["higher", "lower"]
    series: str
    system: str
    points: list[Point]
    slope: Estimate
    per: float

    @property
    def strength_unit(self) -> str:
        """Return the unit of the strength."""
        return self.points[-1].run.unit


class Crossing(NamedTuple):
    """Hold the strength at which a system that is better on clean audio falls below another.

    Attributes:
        strength: Strength at which their curves cross, by linear interpolation, with the interval over the draws in
            which they cross between two strengths; NaN if they cross between clean audio and the mildest strength.
        share: Share of draws in which the better system is also better on clean audio, and falls below the other.
    """

    measure: str
    series: str
    better: str
    worse: str
    strength: Estimate
    share: float
    strength_unit: str


def measure(
    pool: ScoreMatrix, runs: Sequence[SeriesRun], suite: str, draws: int, seed: int, scale: Scale | None
) -> tuple[list[Measured], str]:
    """Return the scores of all runs in each category of a suite, and in SIQ or else the reason why it is missing.

    The pool has the runs clip by clip, in their order. Without a scale of norms on its clips, the clean runs are the
    reference population. 0 draws leave the intervals out.
    """
    levels = [_measure_level(pool, level, draws, seed) for level in pool.raw]
    if not is_siq(suite):
        return levels, ""
    clean = [number for number, run in enumerate(runs) if not run.condition]
    if scale is None and len(clean) < FEWEST:
        systems = count_of(len(clean), "system")
        return levels, f"no SIQ: no scale from {systems} on clean audio; run {FEWEST}, or give --norms"
    if len(pool.raw) < 3:
        return levels, f"no SIQ: it needs all levels, and these runs have {', '.join(pool.raw)}"
    names, raw = tuple(runs[row].name for row in clean), {level: raw[clean] for level, raw in pool.raw.items()}
    scale = scale or calibrate(pool._replace(systems=names, raw=raw))
    siq = score(pool, scale).siq
    drawn = draw(pool, scale=scale, draws=draws, seed=seed).siq if draws else np.empty((0, len(runs)))
    clips = Clips.of(pool)
    resampled = Resampled(np.vstack([siq, drawn]), len(clips.names), clips.cluster_count, len(clips.names))
    return [Measured("siq", "SIQ", 1.0, resampled.estimates, resampled), *levels], ""


def _measure_level(pool: ScoreMatrix, level: str, draws: int, seed: int) -> Measured:
    category, raw = pool.levels[level], pool.raw[level]
    clips = Clips.of(pool)
    places = clips.places[level]

    def means(counts: np.ndarray) -> np.ndarray:
        sums, sizes = counts[:, places] @ raw.T, counts[:, places].sum(axis=1, keepdims=True)
        return np.asarray(np.divide(sums, sizes, out=np.full_like(sums, np.nan), where=sizes > 0))

    drawn = resample(means, clips.names, pool.clusters, draws=draws, seed=seed)
    # The scores are those of other tables to the last bit.
    drawn = drawn._replace(values=np.vstack([raw.mean(axis=1), drawn.values[1:]]))
    scale = float(category.show(1.0))
    scores = [estimate.map(scale) for estimate in estimate_means(pool, level, drawn)]
    return Measured(level, category.unit, category.measure.sign, scores, drawn.map(lambda values: values * scale))


def draw_curves(measured: Measured, series: Mapping[str, Paths], runs: Sequence[SeriesRun]) -> Iterator[Curve]:
    """Yield a curve per series and system; `runs` are in the order of the scores."""
    direction: Literal["higher", "lower"] = "higher" if measured.sign > 0 else "lower"
    for name, paths in series.items():
        for system, rows in paths.items():
            points, slope, per = _draw_curve(measured, rows, [runs[row] for row in rows])
            yield Curve(measured.name, measured.unit, direction, name, system, points, slope, per)


def _draw_curve(
    measured: Measured, rows: Sequence[int], path: Sequence[SeriesRun]
) -> tuple[list[Point], Estimate, float]:
    """Return the points of a curve, its slope, and the number of units that the slope is per."""
    drawn, per = measured.drawn.map(lambda values: values[:, rows]), PER.get(path[-1].unit, 1.0)
    losses = drawn.map(lambda values: (values[:, :1] - values) * measured.sign).estimates
    points = [Point(run, measured.scores[row], loss) for run, row, loss in zip(path, rows, losses, strict=True)]
    strengths = np.array([run.strength for run in path[1:]])
    return points, drawn.map(lambda values: per * _slopes(strengths, values[:, 1:])).estimate, per


def _slopes(strengths: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the least-squares slope of each row of `values` over the finite strengths; NaN with fewer than two."""
    finite = np.isfinite(strengths)
    strengths, values = strengths[finite], values[:, finite]
    if len(set(strengths.tolist())) < 2:
        return np.full(len(values), np.nan)
    centered = strengths - strengths.mean()
    return np.asarray(values @ centered / (centered @ centered))


def find_crossings(measured: Measured, series: Mapping[str, Paths], runs: Sequence[SeriesRun]) -> Iterator[Crossing]:
    """Yield where curves of two systems cross, in each series in which both have the same strengths."""
    for name, paths in series.items():
        strengths = {system: [runs[row].strength for row in rows[1:]] for system, rows in paths.items()}
        for better, worse in combinations(paths, 2):
            if strengths[better] != strengths[worse]:
                continue
            scores = measured.sign * measured.drawn.values
            gaps = scores[:, paths[better]] - scores[:, paths[worse]]
            if gaps[0, 0] < 0:
                better, worse, gaps = worse, better, -gaps
            value, *zeros = find_zeros(gaps, np.array([math.nan, *strengths[better]])).tolist()
            if math.isinf(value):
                continue
            crossed = [zero for zero in zeros if not math.isinf(zero)]
            strength = measured.drawn._replace(values=np.array([value, *crossed])).estimate
            share = len(crossed) / len(zeros) if zeros else math.nan
            unit = runs[paths[better][-1]].unit
            yield Crossing(measured.name, name, better, worse, strength, share, unit)


def find_zeros(gaps: np.ndarray, strengths: np.ndarray) -> np.ndarray:
    """Return the strength at which each row of gaps falls below 0 for the first time, by linear interpolation.

    Args:
        gaps: Shape (rows, strengths).
        strengths: The first is that of clean audio, NaN.

    Returns:
        Shape (rows,); infinite if a row stays at 0 or above, or is below 0 on clean audio, so that it cannot fall; NaN
        if it falls below before the second strength.

    >>> strengths = np.array([np.nan, 20.0, 10.0])
    >>> find_zeros(np.array([[2.0, 1.0, -1.0], [2.0, 1.0, 0.5], [2.0, -1.0, -1.0], [-1.0, -1.0, -1.0]]), strengths)
    array([15., inf, nan, inf])
    """
    below = gaps < 0
    first = below.argmax(axis=1)
    rows = np.arange(len(gaps))
    previous = np.maximum(first - 1, 0)
    falls = below.any(axis=1) & (first > 0)
    before, after = gaps[rows, previous], gaps[rows, first]
    with np.errstate(divide="ignore", invalid="ignore"):
        way = before / (before - after)
        at = strengths[previous] + (strengths[first] - strengths[previous]) * way
    return np.where(falls, at, np.inf)
