"""Set controls apart from systems: they come last in tables, and take no rank from a system that processes audio."""

from typing import Any

from speechiq.reducer.scores.ranking import places_apart
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.grid import Cell, Column, Grid
from speechiq.reducer.tables.scoreboard_records import rows_of

#: Key of a row's control (`gold`, `silence`, ...), by which pages put the row into a body of its own.
APART = "apart"
#: Column of the ranks among all, which a page shows in place of `rank` on request.
RANK_AMONG = "rank_among"


def order_apart(scoreboard: Scoreboard) -> list[int]:
    """Return the rows of the systems by rank, then those of controls; all by rank if there are only controls."""
    listening = set(scoreboard.listening)
    return sorted(scoreboard.order, key=lambda row: row not in listening)


def list_rows(scoreboard: Scoreboard) -> list[dict[str, Any]]:
    """Return the row of each system (`rows_of`) in the order of `order_apart`."""
    rows = dict(zip(scoreboard.order, rows_of(scoreboard), strict=True))
    return [rows[row] for row in order_apart(scoreboard)]


def mark_control(scoreboard: Scoreboard, row: int) -> dict[str, Cell]:
    """Return the cell that sets the row of a control apart; none for a system, or if there are only controls."""
    control = scoreboard.systems[row].control
    return {APART: control} if control and row not in scoreboard.listening else {}


def set_apart(grid: Grid, scoreboard: Scoreboard) -> Grid:
    """Return the grid of a scoreboard with systems ranked among themselves and controls last, without a rank.

    A further column has the ranks among all. A grid without controls, or with nothing else, stays as it is.
    """
    if len(scoreboard.listening) == len(scoreboard.systems):
        return grid
    cells, places = dict(zip(scoreboard.order, grid.rows, strict=True)), places_apart(scoreboard)
    rows: list[dict[str, Cell]] = []
    for row in order_apart(scoreboard):
        rows.append({**cells[row], **mark_control(scoreboard, row)})
        if "rank" in cells[row]:
            rows[-1] |= {RANK_AMONG: cells[row]["rank"], "rank": places.get(row, "")}
    columns: list[Column] = []
    for column in grid.columns:
        columns.append(column)
        if column.name == "rank":
            heading = f"{column.heading}\nwith controls"
            columns.append(column._replace(name=RANK_AMONG, heading=heading, kind=f"{column.kind} among".strip()))
    return grid._replace(columns=columns, rows=rows)
