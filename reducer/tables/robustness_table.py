"""Show curves of scores over the strength of a condition as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.console import count_of, printable
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.studies.robustness.curves import Crossing, Curve, Point
from speechiq.reducer.studies.robustness.study import Robustness
from speechiq.reducer.tables.scoreboard_table import SYSTEM, TITLE


def as_tables(robustness: Robustness) -> Iterator[Table]:
    """Yield a table per measure and series, narrow enough for 80 columns: in each system's cells a line per strength.

    The last line of a system is its slope, if it has one.
    """
    for _, curves in groupby(robustness.curves, key=lambda curve: (curve.measure, curve.series)):
        yield _as_table(list(curves))


def _as_table(curves: Sequence[Curve]) -> Table:
    first = curves[0]
    title = f"{title_of(first)}: {first.unit}"
    table = Table(title=Text(title), box=SIMPLE_HEAD, padding=(0, 0, 0, 1), show_lines=True)
    table.add_column(SYSTEM, overflow="fold")
    for heading in (printable(first.series), "Score", "Loss"):
        table.add_column(Text(heading), justify="right", no_wrap=True)
    for curve in curves:
        lines = [*map(_cells, curve.points), *_slope_cells(curve)]
        table.add_row(Text(printable(curve.system)), *map("\n".join, zip(*lines, strict=True)))
    return table


def title_of(of: Curve | Crossing) -> str:
    """Return the measure and the series of a curve or a crossing, for people."""
    return f"{TITLE if of.measure == SIQ else of.measure.title()} under {printable(of.series)}"


def title_of_slope(curve: Curve) -> str:
    """Return what a slope counts, such as `slope per 10 dB`."""
    unit = curve.strength_unit
    return f"slope per {curve.per:g}{unit and f' {unit}'}"


def _cells(point: Point) -> Sequence[str]:
    loss = _show(point.loss, "+.1f") if point.run.condition else ""
    return point.run.label, _show(point.score, ".1f"), loss


def _slope_cells(curve: Curve) -> Iterator[Sequence[str]]:
    if not math.isnan(curve.slope.value):
        yield title_of_slope(curve), _show(curve.slope, "+.2f"), ""


def _show(number: Estimate, form: str, unit: str = "") -> str:
    interval = "" if math.isnan(number.low) else f" [{number.low:{form}}, {number.high:{form}}]"
    return f"{number.value:{form}}{unit and f' {unit}'}{interval}"


def caption(robustness: Robustness) -> str:
    """Return the lines below the tables of a suite."""
    bars = f"in brackets: 95 % intervals over {robustness.draws} draws of {count_of(robustness.clips, 'clip')}"
    lines = ["loss: how much worse than on clean audio, on the same clips", *([bars] if robustness.draws else [])]
    return "\n".join([*lines, *robustness.notes])


def describe(crossing: Crossing) -> str:
    """Return where two curves cross, in words."""
    where = (
        "before the mildest strength"
        if math.isnan(crossing.strength.value)
        else f"at {_show(crossing.strength, '.1f', crossing.strength_unit)}"
    )
    share = "" if math.isnan(crossing.share) else f", in {100 * crossing.share:.0f} % of the draws"
    names = f"{printable(crossing.better)} falls below {printable(crossing.worse)}"
    return f"{title_of(crossing)}: {names} {where}{share}"
