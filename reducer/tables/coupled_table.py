"""Show a comparison of two systems on several metrics with the same draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.console import count_of, printable
from speechiq.reducer.stats.coverage import caution_of_raw
from speechiq.reducer.studies.coupled import Coupled, Difference
from speechiq.reducer.tables.side_by_side import SIDES


def as_table(found: Coupled) -> Table:
    """Return a table with one row per metric; pooled error rates are in percent."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold")
    for heading in ("A", "B", "A - B", "95 % of A - B"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("favors", no_wrap=True)
    for of in found.differences:
        a, b = (_show(of, value) for value in (of.a, of.b))
        gap, low, high = (_show(of, value, "+") for value in (of.difference, of.low, of.high))
        unit = " %" if of.pooled else ""
        table.add_row(Text(f"{printable(of.metric)}{unit}"), a, b, gap, f"{low} to {high}", SIDES[of.side])
    return table


def lines_of(found: Coupled) -> Iterator[str]:
    """Yield the verdict and the notes."""
    names = ", ".join(of.metric for of in found.differences)
    if found.better:
        side = "B" if found.better == found.b else "A"
        yield f"{side} is better beyond chance, by the intervals of {names}"
    else:
        yield f"neither is better beyond chance: a system is better only if the intervals of all of {names} favor it"
    yield f"{found.draws} draws of {count_of(found.clips, 'clip')}, seed {found.seed}; all metrics share each draw"
    pooled = [of.metric for of in found.differences if of.pooled]
    means = [of.metric for of in found.differences if not of.pooled]
    parts = [f"pooled over clips: {', '.join(pooled)}"] * bool(pooled) + [
        f"mean over clips: {', '.join(means)}"
    ] * bool(means)
    yield "; ".join(parts)
    for of in found.differences:
        if of.clips < found.clips:
            yield f"{of.metric} is undefined on {found.clips - of.clips} of {found.clips} clips, which it leaves out"
    yield from filter(None, [caution_of_raw(found.clips)])


def as_json(found: Coupled) -> dict[str, Any]:
    """Return the comparison as plain data; `difference` is a minus b in the unit of the column."""
    favors = {1: found.a, -1: found.b, 0: None}
    rows = [of._asdict() | {"favors": favors[of.side]} for of in found.differences]
    return found._asdict() | {
        "differences": [{key: value for key, value in row.items() if key != "side"} for row in rows],
        "better": found.better,
    }


def _show(of: Difference, value: float, sign: str = "") -> str:
    return f"{100 * value:{sign}z.2f}" if of.pooled else f"{value:{sign}z.4f}"
