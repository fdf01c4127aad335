"""Set controls apart from systems: their rows have a body of their own in the tables of pages."""

from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.grid import Cell, Grid

#: Key of a row's control (`gold`, `silence`, ...), by which pages put the row into a body of its own.
APART = "apart"


def mark_control(scoreboard: Scoreboard, row: int) -> dict[str, Cell]:
    """Return the cell that sets the row of a control apart; none for a system, or if there are only controls."""
    control = scoreboard.systems[row].control
    return {APART: control} if control and row not in scoreboard.listening else {}


def set_apart(grid: Grid, scoreboard: Scoreboard) -> Grid:
    """Return the grid of a scoreboard with the rows of controls set apart."""
    marks = [mark_control(scoreboard, row) for row in scoreboard.order]
    return grid._replace(rows=[{**cells, **mark} for cells, mark in zip(grid.rows, marks, strict=True)])
