"""Make the tables of systems: the leaderboard, data sets, profiles, stability, and a page about each system."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from speechiq.core.console import count_of, printable
from speechiq.reducer.output.page.identity import mark_control, name_encoder, set_apart, show_kind
from speechiq.reducer.output.page.page import link_to
from speechiq.reducer.output.page.study import Study, ranks_by_rule, weights_by_rule
from speechiq.reducer.output.scoreboard_table import KIND, SYSTEM, as_grid
from speechiq.reducer.runs.conditions import read_conditions
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.run_record import RunRecord, read_run_record
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.ranking import macro_average
from speechiq.reducer.scores.remarks import FLAGS, title
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.estimate import ROUNDING
from speechiq.reducer.stats.grid import Cell, Column, Grid

TAILS = (0.025, 0.975)
WORST = 5

#: A system's row (`scoreboard_records.rows_of`).
Row = Mapping[str, Any]
#: Heading of a data set -> system and score (`siq` or a level) -> its number and Z.
Scores = Mapping[str, Mapping[tuple[str, str], Sequence[Cell]]]


def leaderboard_table(study: Study, rows: Sequence[Row]) -> Grid:
    """Return the table of all systems, best first: that of the terminal, with what the systems are."""
    grid = set_apart(as_grid(study.scoreboard), study.scoreboard)
    numbers = ("siq", *study.levels)
    order = ["rank", "system", *numbers, "hallucination", "kind", "encoder"]
    of_scores = [column for column in grid.columns if column != KIND]
    columns = [
        *(column._replace(form=".1f") if column.name in numbers else column for column in of_scores),
        KIND,
        Column("encoder", "Audio encoder", kind="encoder"),
        Column("ranks", "", below="rank"),
    ]
    columns.sort(key=lambda column: order.index(column.name) if column.name in order else len(order))
    cells = [
        {**shown, **_describe(study, row), "ranks": likely_ranks(row["rank_probabilities"])}
        for shown, row in zip(grid.rows, rows, strict=True)
    ]
    notes = [note for note in grid.notes if note != study.scoreboard.remarks.no_siq]
    return grid._replace(columns=columns, rows=cells, notes=notes)


def _describe(study: Study, row: Row) -> dict[str, Cell]:
    system = study.scoreboard.systems[study.names.index(row["system"])]
    mark = Markup(' <span class="warn" title="not asked the same">≠</span>') if row["mismatches"] else ""
    name = link_to("system", row["system"]) + mark + _control(system.control)
    return {"system": name, "kind": show_kind(system) or None, "encoder": name_encoder(system) or None}


def likely_ranks(probabilities: Sequence[float] | np.ndarray | None) -> str:
    """Return the ranks of the middle 95 % of the bootstrap samples; empty if it is one."""
    if probabilities is None:
        return ""
    low, high = np.searchsorted(np.cumsum(probabilities), TAILS) + 1
    return f"{low} to {min(high, len(probabilities))}" if low < high else ""


def link_system(study: Study, system: str) -> Markup:
    """Return the short name of a system, which leads to its page, and its control, if it is one."""
    place = study.names.index(system)
    return link_to("system", system, study.labels[place]) + _control(study.scoreboard.systems[place].control)


def _control(control: str) -> Markup:
    return Markup("<small>control: {}</small>").format(control) if control else Markup()


def scores_by_set(study: Study) -> Scores:
    """Return the scores of all systems on each data set, their mean over the sets, and the scores on all clips."""
    boards = {_head(name, scoreboard.pool): scoreboard for name, scoreboard in study.sets.items()}
    if study.sets and (average := macro_average(study.scoreboard, study.sets)):
        boards["Macro average\neach set once"] = average
    boards[_head("All clips", study.scoreboard.pool)] = study.scoreboard
    scores: dict[str, dict[tuple[str, str], Sequence[Cell]]] = {}
    for source, board in boards.items():
        scores[source] = {}
        for row, system in enumerate(board.pool.systems):
            for score, *cells in _cells(study, board, row):
                scores[source][system, score] = cells
    return scores


def _head(name: str, pool: ScoreMatrix) -> str:
    return f"{name}\n{count_of(max(map(len, pool.clips.values())), 'clip')}"


def _cells(study: Study, board: Scoreboard, row: int) -> Iterator[tuple[str, Cell, Cell]]:
    """Yield the name of a score of the system of a row, its number with its interval, and Z."""
    yield "siq", board.estimate_siq(row), ""
    for level, category in board.levels.items():
        factor = float(category.measure.show_score(1.0))
        z = float(board.z[level][row]) if study.has_z else ""
        yield level, board.estimate(level, row).map(factor), z


def score_names(study: Study) -> dict[str, str]:
    """Return score -> its heading: SIQ, if there is one, and the levels."""
    levels = {level: f"{title(level)}, {study.scoreboard.pool.levels[level].unit}" for level in study.levels}
    return ({"siq": "Speech IQ"} if study.has_siq else {}) | levels


def set_tables(study: Study, scores: Scores) -> dict[str, Grid]:
    """Return score -> its table, a column per data set; none with one data set."""
    order = study.scoreboard.order
    systems = [study.names[row] for row in order]
    first = Column("name", SYSTEM)
    tables = {}
    for score, heading in score_names(study).items() if study.sets else ():
        lines = [(link_system(study, system), system, score) for system in systems]
        tables[score] = set_apart(_table(heading, first, scores, lines), study.scoreboard)
    return tables


def system_table(study: Study, scores: Scores, system: str) -> Grid:
    """Return the scores of a system, a column per data set."""
    rows = [(heading, system, score) for score, heading in score_names(study).items()]
    return _table(f"Scores of {system}", Column("name", "Score"), scores, rows)


def _table(heading: str, first: Column, scores: Scores, lines: Iterable[tuple[str, str, str]]) -> Grid:
    """Return a table of scores; a line has its name, the system and the score."""
    columns = [first]
    for source in scores:
        columns += [Column(source, source, ".1f"), Column(f"{source} Z", "", "+.2f", below=source)]
    rows: list[dict[str, Cell]] = []
    for name, system, score in lines:
        rows.append({"name": name})
        for source, cells in scores.items():
            rows[-1][source], rows[-1][f"{source} Z"] = cells.get((system, score), ("", ""))
    return Grid(heading, columns, rows)


def profile_table(study: Study, rows: Sequence[Row]) -> Grid:
    """Return the table of each system's Z on each level."""
    columns = [Column("system", SYSTEM), *(Column(level, f"{title(level)}\nZ", "+.2f") for level in study.levels)]
    cells: list[dict[str, Cell]] = []
    for row in rows:
        cells.append({"system": link_system(study, row["system"])})
        cells[-1] |= {level: row["categories"][level]["z"] for level in study.levels}
    return set_apart(Grid("Level profiles", columns, cells), study.scoreboard)


def stability_table(study: Study) -> Grid:
    """Return the ranks of systems by each rule of the level weights, and the largest move when a system leaves."""
    bars, shifts, ranks = study.scoreboard.bars, study.scoreboard.shifts, ranks_by_rule(study.scoreboard)
    columns = [Column("system", SYSTEM)]
    for rule, weights in weights_by_rule(study.scoreboard).items():
        shown = " / ".join(f"{weight:.2f}" for weight in weights.values())
        columns += [Column(rule, f"{rule}\n{shown}", "d", lower=True), Column(f"{rule} differs", "", below=rule)]
    if bars:
        columns.append(Column("best", "Rank 1\n% of bootstrap samples", ".0f", factor=100.0))
    if shifts is not None:
        columns += [Column("shift", "Largest shift\nSIQ", "+.2f"), Column("without", "without …", below="shift")]
    rows: list[dict[str, Cell]] = []
    likely = study.scoreboard.rank_probabilities
    for row in study.scoreboard.order if ranks else ():
        rows.append({"system": link_system(study, study.names[row]), **mark_control(study.scoreboard, row)})
        if row in study.listening:
            place = study.listening.index(row)
            places = {rule: int(of_rule[place]) for rule, of_rule in ranks.items()}
            first = next(iter(places.values()))
            rows[-1] |= places
            rows[-1] |= {f"{rule} differs": f"not {first}" for rule, place in places.items() if place != first}
        if row in likely:
            rows[-1]["best"] = float(likely[row][0])
        if shifts is not None and not np.isnan(moves := shifts[:, row]).all():
            furthest = int(np.nanargmax(np.abs(moves)))
            rows[-1] |= {"shift": float(moves[furthest]), "without": study.labels[furthest]}
    return Grid("Stability", columns, rows)


class SystemPage(NamedTuple):
    """Describe what the page shows of one system.

    Attributes:
        label: Its short name.
        facts: Its rank and shares of failures, in words.
        runs: Its runs, newest first.
        settings: What the newest run recorded of the system.
        worst: The clips with the lowest raw scores of each level, worst first, without those at the best score of all.
    """

    name: str
    label: str
    facts: dict[str, str]
    runs: list[RunRecord]
    settings: dict[str, str]
    scores: Grid
    worst: list[Grid]


def list_system_pages(study: Study, rows: Sequence[Row], scores: Scores) -> list[SystemPage]:
    """Return a page per system, in the order of the leaderboard."""
    found = []
    ranked = sum(not system.control for system in study.scoreboard.systems)
    for row in rows:
        name = row["system"]
        place = study.names.index(name)
        system = study.scoreboard.systems[place]
        rank = "" if row["rank"] is None else f"{row['rank']} of {ranked}"
        facts = _facts(row, system, rank)
        worst = [_worst(study, level, place) for level in study.levels]
        settings = dict(flatten_settings(system.described))
        table = system_table(study, scores, name)
        found.append(SystemPage(name, study.labels[place], facts, [*_runs(system)], settings, table, worst))
    return found


def _facts(row: Row, system: System, rank: str) -> dict[str, str]:
    facts = {"Rank": rank, "Kind": show_kind(system), "Audio encoder": name_encoder(system), "Control": system.control}
    for flag, (label, meaning) in FLAGS.items():
        if row["flags"][flag] is not None:
            facts[label] = f"{100 * row['flags'][flag]:.1f} %: share of {meaning}"
    return {name: text for name, text in facts.items() if text}


def list_all_tasks(systems: Iterable[System]) -> list[TaskRun]:
    """Return the tasks of some systems."""
    return [task for system in systems for task in system.tasks]


def task_table(systems: Iterable[System]) -> Grid:
    """Return the table of all tasks and what their scores depend on; a row for each way in which a task was asked."""
    counts = Counter(_describe_task(task) for task in list_all_tasks(systems))
    columns = [
        Column("task", "Task"),
        Column("level", "Level"),
        Column("conditions", "Asked with", kind="words"),
        Column("systems", "Systems", "d"),
    ]
    rows: list[dict[str, Cell]] = [
        {"task": task, "level": level.title(), "conditions": conditions, "systems": count}
        for (task, level, conditions), count in sorted(counts.items())
    ]
    return Grid("Tasks", columns, rows)


def _describe_task(task: TaskRun) -> tuple[str, str, str]:
    conditions = read_conditions(task)
    shown = {field: value for field, value in conditions.items() if field != "task" and value is not None}
    return str(conditions["task"]), task.level, ", ".join(f"{field} {value}" for field, value in shown.items())


def _runs(system: System) -> Iterator[RunRecord]:
    by_file: dict[str, list[TaskRun]] = {}
    for task in sorted(system.tasks, key=lambda task: (-task.date, task.results)):
        by_file.setdefault(task.results, []).append(task)
    for results, tasks in by_file.items():
        path, names = Path(results), sorted(task.task for task in tasks)
        record = read_run_record(tasks)
        facts = {
            "Date": f"{datetime.fromtimestamp(tasks[0].date, UTC):%Y-%m-%d %H:%M} UTC",
            "Tasks": ", ".join(map(printable, names)),
            **record.facts,
            "Versions": ", ".join(f"{package} {version}" for package, version in tasks[0].versions.items()),
            "Results file": printable(str(Path(path.parent.name, path.name))),
        }
        yield RunRecord(record.command, {name: text for name, text in facts.items() if text})


def flatten_settings(described: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield settings with the path that leads to them.

    >>> dict(flatten_settings({"asr": {"model": "w", "languages": ["en"]}}))
    {'asr, model': 'w', 'asr, languages': 'en'}
    """
    match described:
        case dict():
            for key, value in described.items():
                yield from flatten_settings(value, f"{name}, {key}" if name else str(key))
        case list():
            yield name, ", ".join(map(str, described))
        case None:
            yield name, "none"
        case bool():
            yield name, "yes" if described else "no"
        case _:
            yield name, str(described)


def _worst(study: Study, level: str, row: int) -> Grid:
    pool = study.scoreboard.pool
    raw, names, category = pool.raw[level], pool.clips[level], pool.levels[level]
    mean, best = raw[study.listening].mean(axis=0), raw.max()
    columns = [Column("clip", "Clip"), Column("value", "this system", ".1f"), Column("mean", "mean", ".1f")]
    rows = [
        {"clip": link_to("clip", names[i]), "value": category.show(raw[row, i]), "mean": category.show(mean[i])}
        for i in np.argsort(raw[row], kind="stable")[:WORST]
        if raw[row, i] < best - ROUNDING
    ]
    return Grid(f"{level.title()}, {category.unit}", columns, rows)
