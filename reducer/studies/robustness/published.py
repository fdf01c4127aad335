"""Show curves of scores over the strength of a condition: grids, lines in words, and records for files."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.stats.coverage import count_units
from speechiq.reducer.stats.grid import INTERVAL, Cell, Column, Grid
from speechiq.reducer.studies.robustness.curves import Crossing, Curve
from speechiq.reducer.studies.robustness.study import Robustness


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
        columns.append(Column("slope", title_of_slope(first) + bars, "+.2f"))
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


def title_of_slope(curve: Curve) -> str:
    """Return what a slope counts, such as `slope per 10 dB`."""
    return f"slope per {curve.per:g} {curve.strength_unit}".rstrip()


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
