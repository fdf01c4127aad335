"""Describe a system for its page: its newest scores, its tasks, how it was run, and the history of its scores."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from speechiq.reducer.publishing.site.boards import Board, Entry
from speechiq.reducer.report import figures
from speechiq.reducer.report.systems import flatten_settings, task_table
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import INTERVAL, Cell, Column, Grid
from speechiq.reducer.tables.scoreboard_table import FLAGS

SCORES = (
    Column("score", "Score"),
    Column("value", f"Value\n{INTERVAL}", ".2f", ".1f"),
    Column("z", f"Z\n{INTERVAL}", "+.2f"),
    Column("clips", "Clips", "d"),
    Column("clusters", "Clusters", "d"),
    Column("items", "Items", "d"),
    Column("undefined", "Without score", "d"),
)


def describe(name: str, boards: Sequence[Board]) -> dict[str, Any]:
    """Return the values of the page of a system that is on at least one board."""
    own = [board for board in boards if name in board.results]
    entry = max((board.results[name][0] for board in own), key=lambda entry: entry.result.date)
    tasks = task_table(entry.systems.values())
    charts = {f"history-{number}": _draw(board, name) for number, board in enumerate(own)}
    return {
        "entry": entry,
        "boards": own,
        "scores": [_list_scores(board, name) for board in own],
        "flags": dict(_list_flags(entry)),
        "versions": sorted(
            {f"{package} {each}" for task in entry.result.tasks for package, each in task.versions.items()}
        ),
        "settings": dict(flatten_settings(entry.result.description)),
        "tasks": tasks._replace(columns=[column for column in tasks.columns if column.name != "systems"]),
        "history": [_list_history(board, name) for board in own],
        "charts": {place: chart for place, chart in charts.items() if chart},
    }


def _list_flags(entry: Entry) -> Iterator[tuple[str, str]]:
    for suite, scores in entry.result.suites.items():
        for flag, share in scores.flags.items():
            if share is not None and flag in FLAGS:
                name, meaning = FLAGS[flag]
                yield f"{name} ({suite})", f"{100 * share:.1f} %: share of {meaning}"


def _list_scores(board: Board, name: str) -> Grid:
    """Return the newest scores of a system on a board, as people read them, a row per score."""
    entry = board.results[name][0]
    suite, cells = entry.result.suites[board.suite], board.list_scores(entry)
    rows: list[dict[str, Cell]] = [{"score": "Speech IQ", "value": cells.get("siq")}] if board.norms else []
    for column, record in {**suite.categories, **suite.further}.items():
        cell = cells[column]
        shown = cell.map(100 if record.unit.endswith("%") else 1) if isinstance(cell, Estimate) else cell
        z = entry.show(board.suite, record.z, column) if record.z and isinstance(cell, Estimate) else ""
        sizes = {key: getattr(record, key) for key in ("clips", "clusters", "items", "undefined")}
        rows.append({"score": f"{title(column)}\n{record.unit}", "value": shown, "z": z, **sizes})
    used = [column for column in SCORES if any(row.get(column.name, "") not in ("", 0) for row in rows)]
    return Grid(board.title, used, rows)


def _list_history(board: Board, name: str) -> Grid:
    rows: list[Mapping[str, Cell]] = [
        {**board.list_scores(entry), "date": entry.date, "version": entry.result.speechiq}
        for entry in board.results[name]
    ]
    columns = [Column("date", "Date\nUTC", kind="date"), *board.list_columns(), Column("version", "speechiq")]
    return Grid(f"History: {board.title}", columns, rows)


def _draw(board: Board, name: str) -> Any:
    """Return the chart of the first score by date, oldest lowest; None without two dates with that score."""
    column = board.list_columns()[0]
    cells = {entry.date: board.list_scores(entry).get(column.name) for entry in reversed(board.results[name])}
    known = {date: cell.map(column.factor) for date, cell in cells.items() if isinstance(cell, Estimate)}
    if len(known) < 2:
        return None
    values, ends = [cell.value for cell in known.values()], [cell.ends for cell in known.values()]
    heading = ", ".join((column.heading or "").splitlines())
    return figures.as_json(figures.scores([*known], values, ends, [False] * len(known), heading))
