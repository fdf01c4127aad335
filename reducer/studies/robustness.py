"""Measure how scores change with the strength of a condition: losses, slopes and crossings, with paired intervals.

A series is one system under one kind of condition of several strengths: noise, codec, room, speed. All runs are scored
on the same clips, and intervals come from one set of draws of these clips or their clusters, with replacement. Those of
the levels are as in other tables (`estimate_means`); those of SIQ, losses, slopes and crossings are percentiles of what
the draws give (`stats/bootstrap.py`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any, Literal, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.conditions import (
    CLIPS,
    Paths,
    SeriesRun,
    compare_systems,
    describe_series_run,
    group_series,
)
from speechiq.reducer.runs.results_file import CONDITION
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.bootstrap import estimate_means
from speechiq.reducer.scores.comparability import (
    NOTHING_SHARED,
    drop_empty_levels,
    narrow_to_shared,
    require_equal,
)
from speechiq.reducer.scores.draws import Clips, draw
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.scale import Scale, calibrate, score
from speechiq.reducer.scores.score_matrix import ScoreMatrix, align
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.stats.bootstrap import Resampled, mean_of_defined, resample
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import Cell, Column, Grid, count_units
from speechiq.reducer.studies.result import StudyResult

#: A slope per this many units of a strength, by unit; of all others, per 1.
PER = {"dB": 10.0, "k": 10.0, "Hz": 1000.0}
#: Systems on clean audio that a scale of SIQ needs: of two, one always has the mean plus one deviation.
FEWEST_SYSTEMS = 3


def _refuse_other_tasks(systems: Sequence[System], runs: Sequence[SeriesRun]) -> None:
    """Refuse systems that got other clips under one condition, or ran other tasks or settings under any two."""
    mismatches = [mismatch for mismatch in compare_systems(systems) if mismatch.aspect not in (CLIPS, CONDITION)]
    for condition in sorted({run.condition for run in runs}):
        same = [system for system, run in zip(systems, runs, strict=True) if run.condition == condition]
        mismatches += [mismatch for mismatch in compare_systems(same) if mismatch.aspect == CLIPS]
    require_equal(mismatches, shared=NOTHING_SHARED)


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


def measure_runs(
    pool: ScoreMatrix, runs: Sequence[SeriesRun], suite: str, draws: int, scale: Scale | None
) -> tuple[list[Measured], str]:
    """Return the scores of all runs in each category of a suite, and in SIQ or else the reason why it is missing.

    The pool has the runs clip by clip, in their order. Without a scale of norms on its clips, the clean runs are the
    reference population. 0 draws leave the intervals out.
    """
    levels = [_measure_level(pool, level, draws) for level in pool.raw]
    if not is_siq(suite):
        return levels, ""
    clean = [number for number, run in enumerate(runs) if not run.condition]
    if scale is None and len(clean) < FEWEST_SYSTEMS:
        systems = count_of(len(clean), "system")
        return levels, f"no SIQ: no scale from {systems} on clean audio; run {FEWEST_SYSTEMS}, or give --norms"
    if len(pool.raw) < 3:
        return levels, f"no SIQ: it needs all levels, and these runs have {', '.join(pool.raw)}"
    names, raw = tuple(runs[row].name for row in clean), {level: raw[clean] for level, raw in pool.raw.items()}
    scale = scale or calibrate(pool._replace(systems=names, raw=raw))
    siq = score(pool, scale).siq
    drawn = draw(pool, scale=scale, draws=draws).siq if draws else np.empty((0, len(runs)))
    clips = Clips.from_matrix(pool)
    resampled = Resampled(np.vstack([siq, drawn]), len(clips.names), clips.cluster_count, len(clips.names))
    fewest, clusters = pool.smallest
    scores = [estimate._replace(clips=fewest, clusters=clusters) for estimate in resampled.estimates]
    return [Measured("siq", "SIQ", 1.0, scores, resampled), *levels], ""


def _measure_level(pool: ScoreMatrix, level: str, draws: int) -> Measured:
    category, raw = pool.levels[level], pool.raw[level]
    clips = Clips.from_matrix(pool)
    places = clips.places[level]

    means = mean_of_defined(raw)
    drawn = resample(lambda counts: means(counts[:, places]), clips.names, pool.clusters, draws=draws)
    # The scores are those of other tables to the last bit.
    drawn = drawn._replace(values=np.vstack([raw.mean(axis=1), drawn.values[1:]]))
    scale = float(category.show(1.0))
    scores = [estimate.map(scale) for estimate in estimate_means(pool, level, drawn)]
    return Measured(level, category.unit, category.measure.sign, scores, drawn.map(lambda values: values * scale))


def _draw_curve(measured: Measured, series: str, system: str, rows: Sequence[int], runs: Sequence[SeriesRun]) -> Curve:
    """Return the curve of a system in a series, whose runs are `rows` of all `runs`, in the order of the scores."""
    drawn, per = measured.drawn.map(lambda values: values[:, rows]), PER.get(runs[rows[-1]].unit, 1.0)
    losses = drawn.map(lambda values: (values[:, :1] - values) * measured.sign).estimates
    points = [Point(runs[row], measured.scores[row], loss) for row, loss in zip(rows, losses, strict=True)]
    strengths = np.array([runs[row].strength for row in rows[1:]])
    slope = drawn.map(lambda values: per * _slopes(strengths, values[:, 1:])).estimate
    direction: Literal["higher", "lower"] = "higher" if measured.sign > 0 else "lower"
    return Curve(measured.name, measured.unit, direction, series, system, points, slope, per)


def _slopes(strengths: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the least-squares slope of each row of `values` over the finite strengths; NaN with fewer than two."""
    finite = np.isfinite(strengths)
    strengths, values = strengths[finite], values[:, finite]
    if len(set(strengths.tolist())) < 2:
        return np.full(len(values), np.nan)
    centered = strengths - strengths.mean()
    return np.asarray(values @ centered / (centered @ centered))


def find_crossings(measured: Measured, series: Mapping[str, Paths], runs: Sequence[SeriesRun]) -> Iterator[Crossing]:
    """Yield where curves of two systems cross, in each series, between the strengths that both have."""
    scores = measured.sign * measured.drawn.values
    for name, paths in series.items():
        places = {system: {runs[row].label: row for row in rows} for system, rows in paths.items()}
        for better, worse in combinations(paths, 2):
            shared = [label for label in places[better] if label in places[worse]]
            one, other = ([places[system][label] for label in shared] for system in (better, worse))
            gaps = scores[:, one] - scores[:, other]
            if gaps[0, 0] < 0:
                better, worse, gaps = worse, better, -gaps
            value, *zeros = find_zeros(gaps, np.array([runs[row].strength for row in one])).tolist()
            if math.isinf(value):
                continue
            crossed = [zero for zero in zeros if not math.isinf(zero)]
            strength = measured.drawn._replace(values=np.array([value, *crossed])).estimate
            share = len(crossed) / len(zeros) if zeros else math.nan
            unit = runs[paths[better][-1]].unit
            yield Crossing(measured.name, name, better, worse, strength, share, unit)


def list_unshared(series: Mapping[str, Paths], runs: Sequence[SeriesRun]) -> Iterator[str]:
    """Yield a note on each series of which some system misses a strength."""
    for name, paths in series.items():
        labels = [{runs[row].label for row in rows} for rows in paths.values()]
        unshared = set[str]().union(*labels) - labels[0].intersection(*labels)
        severities = {run.severity: run.label for run in runs if run.series == name and run.label in unshared}
        if severities:
            shown = ", ".join(label for _, label in sorted(severities.items()))
            yield f"under {name}, not all systems have {shown}; curves cross between the strengths that both have"


def find_zeros(gaps: np.ndarray, strengths: np.ndarray) -> np.ndarray:
    """Return the strength at which each row of gaps falls below 0 for the first time, by linear interpolation.

    Args:
        gaps: Shape (rows, strengths).
        strengths: The first is that of clean audio, NaN.

    Returns:
        Shape (rows,); infinite if a row stays at 0 or above, or is below 0 on clean audio, so that it cannot fall; NaN
        if it falls below before the second strength.

    >>> strengths = np.array([np.nan, 20.0, 10.0])
    >>> find_zeros(np.array([[2.0, 3.0, -1.0], [2.0, 1.0, 0.0], [2.0, -1.0, 2.0], [-1.0, -1.0, -1.0]]), strengths)
    array([12.5,  inf,  nan,  inf])
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


class Robustness(NamedTuple):
    """Describe what conditions do to the systems of one suite.

    Attributes:
        clips: Number of clips of all levels, which are drawn together.
        clusters: Number of their clusters, which is that of clips if no two share one.
    """

    suite: str
    curves: list[Curve]
    crossings: list[Crossing]
    clips: int
    clusters: int
    draws: int
    notes: list[str]

    @property
    def lines(self) -> list[str]:
        """Return the lines below the tables."""
        lines = ["loss: how much worse than on clean audio, on the same clips"]
        if self.draws:
            units = count_units(self.clips, self.clusters)
            lines.append(
                f"intervals from {self.draws} bootstrap samples of {units}: of levels as in siq score, "
                "of SIQ, losses, slopes and crossings by percentiles, which may be too narrow"
            )
        return [*lines, *self.notes]


def study_robustness(found: Found, draws: int, norms: Norms | None = None) -> StudyResult:
    """Return the curves of every suite whose tasks ran under conditions, a grid per measure and series.

    Without norms, the systems on clean audio are the scale of SIQ. 0 draws leave the intervals out. Pages draw the
    `Robustness` of each suite.
    """
    changed = {suite for suite in found.levels for task in found.tasks[suite] if task.metadata.get(CONDITION)}
    suites = [suite for suite in found.levels if suite in changed]
    if not suites:
        group_series([])
    studies = [_study_suite(suite, found.read(suite), draws, norms) for suite in suites]
    grids, contents = list[Grid](), {}
    for study in studies:
        of_suite = [curve_grid(study, curves) for curves in group_curves(study)]
        grids += of_suite
        contents[study.suite] = _as_content(study, of_suite)
    return StudyResult(
        "speechiq-robustness",
        grids,
        {"suites": contents},
        [row for study in studies for row in _list_points(study)],
        [line for study in studies for line in study.lines],
        [task for study in studies for task in found.tasks[study.suite]],
        details=studies,
    )


def _study_suite(suite: str, systems: list[System], draws: int, norms: Norms | None) -> Robustness:
    systems = sorted(narrow_to_shared(drop_empty_levels(systems)), key=lambda system: system.name)
    runs = [describe_series_run(system) for system in systems]
    series = group_series(runs)
    _refuse_other_tasks(systems, runs)
    pool = align(systems)
    measures, without = measure_runs(pool, runs, suite, draws, _scale_of(norms, pool) if is_siq(suite) else None)
    curves: list[Curve] = []
    crossings: list[Crossing] = []
    for measured in measures:
        for name, paths in series.items():
            curves += [_draw_curve(measured, name, system, rows, runs) for system, rows in paths.items()]
        crossings += find_crossings(measured, series, runs)
    drawn = Clips.from_matrix(pool)
    notes = [*([without] if without else []), *list_unshared(series, runs)]
    return Robustness(suite, curves, crossings, len(drawn.names), drawn.cluster_count, draws, notes)


def _scale_of(norms: Norms | None, pool: ScoreMatrix) -> Scale | None:
    if norms is None:
        return None
    for level, clips in pool.clips.items():
        if others := set(clips) - norms.levels[level].clips.keys():
            raise SpeechIQError(
                f"norms {norms.label!r} do not have clip {min(others)!r} of these runs",
                fix="leave --norms out, or give norms of the same data set",
            )
    return norms.scale_of(pool.clips)


def group_curves(robustness: Robustness) -> list[list[Curve]]:
    """Return the curves that one table and one chart show: those of a measure and a series."""
    groups = groupby(robustness.curves, key=lambda curve: (curve.measure, curve.series))
    return [list(curves) for _, curves in groups]


def list_strengths(curves: Sequence[Curve]) -> list[str]:
    """Return the labels of all strengths, from clean audio to the severest."""
    severities = {point.run.label: point.run.severity for curve in curves for point in curve.points}
    return sorted(severities, key=lambda label: severities[label])


def curve_grid(robustness: Robustness, curves: Sequence[Curve]) -> Grid:
    """Return the grid of a group: a row per system, a column per strength with the loss below, and the slope.

    Its notes say where the curves cross.
    """
    first = curves[0]
    columns = [Column("system", "System")]
    clean, *strengths = list_strengths(curves)
    columns.append(Column(clean, clean, ".1f"))
    for label in strengths:
        columns.append(Column(label, label, ".1f"))
        columns.append(Column(f"{label} loss", "loss", "+.1f", below=label))
    if any(not math.isnan(curve.slope.value) for curve in curves):
        columns.append(Column("slope", f"slope per {first.per:g} {first.strength_unit}".rstrip(), "+.2f"))
    same = (first.measure, first.series)
    notes = [describe_crossing(each) for each in robustness.crossings if (each.measure, each.series) == same]
    return Grid(f"{title_of_curves(first)}: {first.unit}", columns, [_row(curve) for curve in curves], notes)


def _row(curve: Curve) -> dict[str, Cell]:
    row: dict[str, Cell] = {"system": curve.system, "slope": curve.slope}
    for point in curve.points:
        row[point.run.label] = point.score
        if point.run.condition:
            row[f"{point.run.label} loss"] = point.loss
    return row


def title_of_curves(group: Curve | Crossing) -> str:
    """Return the measure and the series of a curve or a crossing, for people."""
    return f"{'Speech IQ' if group.measure == SIQ else group.measure.title()} under {group.series}"


def describe_crossing(crossing: Crossing) -> str:
    """Return where two curves cross, in words."""
    unit = crossing.strength_unit and f" {crossing.strength_unit}"
    strength, low, high = crossing.strength[:3]
    ends = "" if math.isnan(low) else f" [{low:.1f}, {high:.1f}]"
    where = "before the mildest strength" if math.isnan(strength) else f"at {strength:.1f}{unit}{ends}"
    share = "" if math.isnan(crossing.share) else f", in {100 * crossing.share:.0f} % of the bootstrap samples"
    return f"{title_of_curves(crossing)}: {crossing.better} falls below {crossing.worse} {where}{share}"


def _list_points(robustness: Robustness) -> Iterator[dict[str, Any]]:
    """Yield one record per point of each curve."""
    for curve in robustness.curves:
        for point in curve.points:
            yield {
                "suite": robustness.suite,
                "measure": curve.measure,
                "unit": curve.unit,
                "direction": curve.direction,
                "system": curve.system,
                "series": curve.series,
                "condition": point.run.condition,
                "strength": point.run.strength,
                "strength_unit": point.run.unit,
                "score": point.score,
                "loss": point.loss,
            }


def _as_content(robustness: Robustness, grids: Sequence[Grid]) -> dict[str, Any]:
    """Return curves, slopes and crossings of a suite for the JSON file, with the cautions about its grids."""
    slopes = []
    for curve in robustness.curves:
        about = {"measure": curve.measure, "series": curve.series, "system": curve.system}
        slopes.append(about | {"slope": curve.slope, "per": curve.per, "strength_unit": curve.strength_unit})
    return {
        "clips": robustness.clips,
        "clusters": robustness.clusters,
        "draws": robustness.draws,
        "notes": [*robustness.notes, *dict.fromkeys(line for grid in grids for line in grid.caution_lines)],
        "points": [*_list_points(robustness)],
        "slopes": slopes,
        "crossings": robustness.crossings,
    }
