"""Show curves of scores over the strength of a condition as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.console import printable
from speechiq.reducer.robustness.curves import Crossing, Curve, Ends, Point
from speechiq.reducer.robustness.study import Robustness
from speechiq.reducer.show.table import UNKNOWN


def as_tables(robustness: Robustness) -> Iterator[Table]:
    """Yield a table per measure and series: a row per system, a column per strength, and the slope."""
    for (measure, series), curves in groupby(robustness.curves, key=lambda curve: (curve.measure, curve.series)):
        yield _as_table(measure, series, list(curves), robustness)


def _as_table(measure: str, series: str, curves: Sequence[Curve], robustness: Robustness) -> Table:
    title = f"{measure.title() if measure != 'siq' else 'Speech IQ'} under {printable(series)}: {curves[0].unit}"
    table = Table(title=Text(title), box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    points = {point.run.label: point.run.severity for curve in curves for point in curve.points}
    labels = sorted(points, key=lambda label: points[label])
    table.add_column("System", overflow="fold")
    for label in labels:
        table.add_column(Text(label), justify="right", no_wrap=True)
    table.add_column(Text(_head_slope(curves[0])), justify="right", no_wrap=True)
    for curve in curves:
        found = {point.run.label: point for point in curve.points}
        cells = [_cell(found[label]) if label in found else UNKNOWN for label in labels]
        slope = UNKNOWN if math.isnan(curve.slope) else f"{curve.slope:+.2f}{_between(curve.slope_ends, '+.2f')}"
        table.add_row(Text(printable(curve.system)), *cells, slope)
    table.caption = Text("\n".join([_explain(robustness), *robustness.notes]))
    return table


def _head_slope(curve: Curve) -> str:
    unit = curve.points[-1].run.unit
    return f"slope per {curve.per:g}{unit and f' {unit}'}"


def _cell(point: Point) -> str:
    loss = f"\nloss {point.loss:+.1f}{_between(point.loss_ends, '+.1f')}" if point.run.condition else ""
    return f"{point.value:.1f}{_between(point.ends, '.1f')}{loss}"


def _between(ends: Ends, form: str) -> str:
    low, high = ends
    return "" if math.isnan(low) else f" [{low:{form}}, {high:{form}}]"


def _explain(robustness: Robustness) -> str:
    bars = f"95 % intervals over {robustness.draws} draws of {robustness.clips} clips" if robustness.draws else ""
    return "; ".join(filter(None, ["loss: how much worse than on clean audio, on the same clips", bars]))


def describe(crossing: Crossing) -> str:
    """Return where two curves cross, in words."""
    unit = crossing.unit and f" {crossing.unit}"
    where = (
        "before the mildest strength"
        if math.isnan(crossing.strength)
        else f"at {crossing.strength:.1f}{unit}{_between(crossing.ends, '.1f')}"
    )
    share = "" if math.isnan(crossing.share) else f", in {100 * crossing.share:.0f} % of the draws"
    names = f"{printable(crossing.better)} falls below {printable(crossing.other)}"
    return f"{crossing.measure} under {printable(crossing.series)}: {names} {where}{share}"
