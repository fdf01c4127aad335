"""Describe a system on a page: what it is and was declared to be, how it was run, its scores, and their history."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from speechiq.reducer.publishing.schema import Result
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


class SystemPage(NamedTuple):
    """Hold what a page shows of a system.

    Attributes:
        entry: Its newest result.
        boards: The boards that it is on.
        facts: Heading -> what it is, was declared to be, how it was run and its settings.
        scores: Its newest scores on each board.
        tasks: The tasks of the newest result.
        history: Its scores by date on each board, newest first.
        charts: Id of a place -> plotly figure, for boards with several dates.
    """

    entry: Entry
    boards: list[Board]
    facts: dict[str, dict[str, str]]
    scores: list[Grid]
    tasks: Grid
    history: list[Grid]
    charts: dict[str, Any]


def describe(name: str, boards: Sequence[Board]) -> SystemPage:
    """Return the page of a system that is on at least one board."""
    own = [board for board in boards if name in board.results]
    entry = max((board.results[name][0] for board in own), key=lambda entry: entry.result.date)
    tasks = task_table(entry.systems.values())
    charts = {f"history-{number}": _draw(board, name) for number, board in enumerate(own)}
    facts = {heading: {key: text for key, text in each.items() if text} for heading, each in _facts(entry).items()}
    return SystemPage(
        entry,
        own,
        {heading: each for heading, each in facts.items() if each},
        [_list_scores(board, name) for board in own],
        tasks._replace(columns=[column for column in tasks.columns if column.name != "systems"]),
        [_list_history(board, name) for board in own],
        {place: chart for place, chart in charts.items() if chart},
    )


def show_date(date: str) -> str:
    """Return the date of a result as people read it.

    >>> show_date("2026-11-23T15:29:04Z")
    '2026-11-23 15:29 UTC'
    """
    return f"{date[:16].replace('T', ' ')} UTC"


def _facts(entry: Entry) -> dict[str, dict[str, str]]:
    result, identity, declared = entry.result, entry.identity, entry.result.declaration
    versions = {f"{package} {version}" for task in result.tasks for package, version in task.versions.items()}
    size = "" if declared.parameters is None else f"{declared.parameters:g} billion"
    return {
        "What it is": {"Kind": identity.kind, "Audio encoder": identity.encoder, "Control": result.control or ""},
        "Declared": {
            "Contamination": declared.contamination or "",
            "Interests": declared.interests or "",
            "Submitted by": declared.submitter or "",
            "Openness": declared.openness or "",
            "Parameters": size,
            "License": declared.license or "",
            **{f"Withdrawn: {title(name)}": reason or "withdrawn" for name, reason in declared.withdrawn.items()},
        },
        "Failures that scores hide": dict(_list_flags(result)),
        "Run": {
            "Date": show_date(result.date),
            **result.environment,
            "Versions": ", ".join(sorted(versions | {f"speechiq {result.speechiq}"})),
            "Intervals": f"{result.draws} bootstrap samples, seed {result.seed}",
        },
        "Settings": dict(flatten_settings(result.description)),
    }


def _list_flags(result: Result) -> Iterator[tuple[str, str]]:
    for suite, scores in result.suites.items():
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
        {**board.list_scores(entry), "date": show_date(entry.result.date), "version": entry.result.speechiq}
        for entry in board.results[name]
    ]
    columns = [Column("date", "Date", kind="date"), *board.list_columns(), Column("version", "speechiq")]
    return Grid(f"History: {board.title}", columns, rows)


def _draw(board: Board, name: str) -> Any:
    """Return the chart of the first score by date, oldest lowest; None without two dates with that score."""
    column = board.list_columns()[0]
    cells = ((entry.result.date, board.list_scores(entry).get(column.name)) for entry in reversed(board.results[name]))
    known = {show_date(date): cell.map(column.factor) for date, cell in cells if isinstance(cell, Estimate)}
    if len(known) < 2:
        return None
    values, ends = [cell.value for cell in known.values()], [cell.ends for cell in known.values()]
    heading = ", ".join((column.heading or "").splitlines())
    return figures.as_json(figures.scores([*known], values, ends, [False] * len(known), heading))
