"""Compute the curves of every suite whose tasks ran under conditions, and show them in grids, words and records."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.results_file import CONDITION
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.comparability import drop_empty_levels, narrow_to_shared
from speechiq.reducer.scores.draws import Clips
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.scale import Scale
from speechiq.reducer.scores.score_matrix import ScoreMatrix, align
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.stats.grid import INTERVAL, Cell, Column, Grid, caution_lines, caution_of_raw, count_units
from speechiq.reducer.studies.robustness.curves import Crossing, Curve, draw_curves, find_crossings, measure
from speechiq.reducer.studies.robustness.series import describe_run, group_series, refuse_other_tasks


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


def study(found: Found, draws: int, seed: int, norms: Norms | None = None) -> list[Robustness]:
    """Return the curves of every suite whose tasks ran under conditions.

    Without norms, the systems on clean audio are the scale of SIQ. 0 draws leave the intervals out.
    """
    suites = [suite for suite in found.levels if any(task.metadata.get(CONDITION) for task in found.tasks[suite])]
    if not suites:
        group_series([])
    return [_study(suite, found.read(suite), draws, seed, norms) for suite in suites]


def _study(suite: str, systems: list[System], draws: int, seed: int, norms: Norms | None) -> Robustness:
    systems = sorted(narrow_to_shared(drop_empty_levels(systems)), key=lambda system: system.name)
    runs = [describe_run(system) for system in systems]
    series = group_series(runs)
    refuse_other_tasks(systems, runs)
    pool = align(systems)
    measures, without = measure(pool, runs, suite, draws, seed, _scale_of(norms, pool) if is_siq(suite) else None)
    curves = [curve for measured in measures for curve in draw_curves(measured, series, runs)]
    crossings = [crossing for measured in measures for crossing in find_crossings(measured, series, runs)]
    notes = [without] * bool(without) + caution_lines(caution_of_raw(*pool.smallest) if draws else None)
    drawn = Clips.of(pool)
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


def as_grid(robustness: Robustness, curves: Sequence[Curve]) -> Grid:
    """Return the grid of a group: a row per system, a column per strength with the loss below, and the slope.

    Its notes say where the curves cross.
    """
    first, bars = curves[0], f"\n{INTERVAL}" * bool(robustness.draws)
    columns = [Column("system", "System")]
    clean, *strengths = list_strengths(curves)
    columns.append(Column(clean, clean + bars, ".1f"))
    for label in strengths:
        columns.append(Column(label, label + bars, ".1f"))
        columns.append(Column(f"{label} loss", "loss" + bars, "+.1f", below=label))
    if any(not math.isnan(curve.slope.value) for curve in curves):
        columns.append(Column("slope", f"slope per {first.per:g} {first.strength_unit}".rstrip() + bars, "+.2f"))
    same = (first.measure, first.series)
    notes = [describe(each) for each in robustness.crossings if (each.measure, each.series) == same]
    return Grid(f"{title_of(first)}: {first.unit}", columns, [_row(curve) for curve in curves], notes)


def _row(curve: Curve) -> dict[str, Cell]:
    row: dict[str, Cell] = {"system": curve.system, "slope": curve.slope}
    for point in curve.points:
        row[point.run.label] = point.score
        if point.run.condition:
            row[f"{point.run.label} loss"] = point.loss
    return row


def lines_of(robustness: Robustness) -> list[str]:
    """Return the lines below the tables of a suite."""
    bars = (
        f"intervals from {robustness.draws} bootstrap samples of {count_units(robustness.clips, robustness.clusters)}"
    )
    loss = "loss: how much worse than on clean audio, on the same clips"
    return [loss, *[bars] * bool(robustness.draws), *robustness.notes]


def title_of(group: Curve | Crossing) -> str:
    """Return the measure and the series of a curve or a crossing, for people."""
    return f"{'Speech IQ' if group.measure == SIQ else group.measure.title()} under {group.series}"


def describe(crossing: Crossing) -> str:
    """Return where two curves cross, in words."""
    unit = crossing.strength_unit and f" {crossing.strength_unit}"
    strength, low, high = crossing.strength[:3]
    ends = "" if math.isnan(low) else f" [{low:.1f}, {high:.1f}]"
    where = "before the mildest strength" if math.isnan(strength) else f"at {strength:.1f}{unit}{ends}"
    share = "" if math.isnan(crossing.share) else f", in {100 * crossing.share:.0f} % of the bootstrap samples"
    return f"{title_of(crossing)}: {crossing.better} falls below {crossing.worse} {where}{share}"


def as_records(robustness: Robustness) -> Iterator[dict[str, Any]]:
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


def as_content(robustness: Robustness) -> dict[str, Any]:
    """Return curves, slopes and crossings of a suite for the JSON file."""
    fields = ("measure", "series", "system", "slope", "per", "strength_unit")
    return {
        "clips": robustness.clips,
        "clusters": robustness.clusters,
        "draws": robustness.draws,
        "notes": robustness.notes,
        "points": [*as_records(robustness)],
        "slopes": [{name: getattr(curve, name) for name in fields} for curve in robustness.curves],
        "crossings": robustness.crossings,
    }
