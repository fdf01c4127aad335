"""Show the scores of a suite without a scale of its own: a table by category, with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.console import count_of
from speechiq.reducer.runs.choice import others_than_usual
from speechiq.reducer.runs.conditions import summarize
from speechiq.reducer.runs.judge_name import name_judges
from speechiq.reducer.runs.measure import Measure
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Board
from speechiq.reducer.tables.scoreboard_records import rows_of
from speechiq.reducer.tables.table import FLAGS, MISMATCH, SYSTEM, UNKNOWN, flag_lines, show_share, shown_flags

INTERVAL = "95 % interval"
CONSTANT = "the most frequent answer of each data set alone scores"
UNPAIRED = (
    "each item has one kind, so kinds differ in their items as well: a difference between kinds is not the effect of "
    "the kind; siq study robustness compares the same items under conditions"
)
ORDER = "in the order of mean rank over the categories"
APART = "; their scores are not combined, since units may differ"


def as_table(board: Board, dataset: str = "") -> Table:
    """Return a table of mean scores over their 95 % intervals, one column per category, then the further columns.

    Args:
        board: The scores.
        dataset: Name of the data set, if the table is about one.
    """
    rows = rows_of(board)
    flags = shown_flags(rows)
    table = Table(
        title=" ".join(filter(None, [f"Suite {board.suite}", dataset])), box=SIMPLE_HEAD, padding=(0, 0, 0, 1)
    )
    table.add_column("Mean rank" if len(board.ranks) > 1 else "Rank", justify="right", no_wrap=True)
    table.add_column(SYSTEM, overflow="fold")
    for column, of in board.columns.items():
        heading = "\n".join([*_wrap(title(column)), *_wrap(of.unit), *[INTERVAL] * (board.bars is not None)])
        table.add_column(Text(heading), justify="right", no_wrap=True)
    for flag in flags:
        table.add_column(f"{FLAGS[flag][0]}\n%", justify="right", no_wrap=True)
    for row in rows:
        mark = f" {MISMATCH}" * bool(row["mismatches"])
        name = "\n".join([row["system"] + mark, *[f"control: {row['control']}"] * bool(row["control"])])
        table.add_row(
            UNKNOWN if row["mean_rank"] is None else f"{row['mean_rank']:.3g}",
            Text(name),
            *("\n".join(_cell(board, column, of)) for column, of in (row["categories"] | row["further"]).items()),
            *(show_share(row["flags"][flag]) for flag in flags),
        )
    table.caption = Text("\n".join(caption(board)))
    return table


def kinds_table(board: Board, field: str) -> Table:
    """Return the table of a board whose categories are the kinds of items by a field.

    Args:
        board: From `rate_kinds`.
        field: Name of the field.
    """
    table = as_table(board, f"by {field}")
    table.caption = Text("\n".join(kinds_caption(board, field)))
    return table


def kinds_caption(board: Board, field: str) -> Iterator[str]:
    """Yield the lines below the table of the kinds."""
    (of, *_), bars = board.pool.levels.values(), board.bars
    yield f"suite {board.suite} by {field}: the mean over the items of all categories, {_sizes(board)}"
    yield UNPAIRED
    yield f"{of.unit}, {of.measure.direction} is better"
    if bars:
        yield f"intervals from {bars.draws} draws of clips, seed {bars.seed}"
        yield from filter(None, [board.caution])


def _sizes(board: Board) -> str:
    return ", ".join(f"{title(kind)} {of.items}" for kind, of in board.remarks.counts.items())


def caption(board: Board) -> Iterator[str]:
    """Yield the lines below the table: the size of the suite, mismatches, and the meaning of the columns."""
    levels, bars = board.pool.levels, board.bars
    yield f"suite {board.suite}: {count_of(len(board.systems), 'system')}"
    if board.mismatches:
        yield f"{MISMATCH} not asked the same, scored on shared items: {summarize(board.mismatches)}"
    apart = not any(of.pooled for of in levels.values())
    yield ORDER + APART * apart if len(levels) > 1 else "in the order of rank"
    yield from board.remarks.lines(levels)
    yield from _undefined_lines(board)
    if bars:
        left_out = f", {bars.left_out} of them left out: they have no clip of some category"
        yield f"intervals from {bars.draws} draws of clips, seed {bars.seed}" + left_out * bool(bars.left_out)
        yield from filter(None, [board.caution])
    if others := others_than_usual(levels):
        yield f"measures: {', '.join(f'{level}={column}' for level, column in others.items())}"
    yield from _join_names(_judge_lines(board))
    yield from _join_names(_measure_lines(board))
    yield from _further_lines(board)
    yield from flag_lines(rows_of(board))


def _measure_lines(board: Board) -> Iterator[tuple[str, str]]:
    """Yield (name of a category, how its scores are read)."""
    for category, of in board.pool.levels.items():
        chance = of.measure.shown_chance
        by_chance = "" if chance is None else f"; by chance {chance:.4g}{' %' * of.measure.in_per_cent}"
        by_floor = f"; {CONSTANT} {_show(of.measure, board.floors[category])}" if category in board.floors else ""
        yield title(category), f"{of.unit}, {of.measure.direction} is better{by_chance}{by_floor}"


def _join_names(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each text once, after the names of all that have it."""
    names: dict[str, list[str]] = {}
    for name, text in lines:
        names.setdefault(text, []).append(name)
    yield from (f"{', '.join(of)}: {text}" for text, of in names.items())


def _show(measure: Measure, value: float) -> str:
    """Return a value of a column as people read it, with its per cent sign."""
    return f"{100 * value:.2f} %" if measure.in_per_cent else f"{value:.4g}"


def _wrap(text: str) -> list[str]:
    """Return a heading in lines as wide as an interval, if its words allow it."""
    return wrap(text, len(INTERVAL), break_long_words=False, break_on_hyphens=False)


def _further_lines(board: Board) -> Iterator[str]:
    """Yield what the further columns are the means of; they do not count for the mean rank."""
    further = board.further
    lines = []
    for column in further.levels:
        items = len(further.systems[0].scores[column])
        names = further.members[column]
        where = "all categories" if len(names) == len(board.pool.levels) else ", ".join(map(title, names))
        lines.append((title(column), f"mean of the {items} items of {where}, not part of the mean rank"))
    yield from _join_names(lines)
    beside = {title(column): of for column, of in further.levels.items() if column == of.column}
    yield from _join_names((name, f"{of.unit}, {of.measure.direction} is better") for name, of in beside.items())
    for column in further.left_out:
        yield f"{title(column)}: not shown, since its categories are scored by different measures"


def _cell(board: Board, column: str, of: dict[str, Any]) -> Iterator[str]:
    level = board.columns[column]
    factor = 100.0 if level.measure.in_per_cent else 1.0
    yield UNKNOWN if of["score"] is None else f"{factor * of['score']:z.2f}"
    if of["interval"]:
        low, high = of["interval"]
        yield f"{factor * low:z.1f} to {factor * high:z.1f}"
    if of.get("undefined"):
        items = len(board.holder(column, 0).scores[column])
        yield f"{of['undefined']} of {items} {level.undefined_word}"


def _judge_lines(board: Board) -> Iterator[tuple[str, str]]:
    """Yield (name of a category, who judged it); if systems were judged by several judges, the systems of each."""
    for category, of in board.pool.levels.items():
        judges: dict[str, list[str]] = {}
        for system in board.systems if of.judged else ():
            tasks = [task for task in system.tasks if task.level == category]
            judges.setdefault(name_judges(tasks), []).append(system.name)
        shown = [judge + f" ({', '.join(names)})" * (len(judges) > 1) for judge, names in judges.items()]
        if shown:
            yield title(category), "; ".join(shown)


def _undefined_lines(board: Board) -> Iterator[str]:
    """Yield what is done with items without a score, and which systems have no score at all."""
    for category, of in board.pool.levels.items():
        counts = {system.name: system.count_undefined(category) for system in board.systems}
        items = board.remarks.counts[category].items
        if total := sum(counts.values()):
            yield (
                f"{title(category)}: {total} of {items * len(counts)} responses are {of.undefined_word} and left out: "
                "each mean is over a system's own remaining items, `siq compare` takes those that both systems have"
            )
        if empty := [name for name, number in counts.items() if number == items]:
            names = ", ".join(map(repr, empty))
            yield f"{title(category)}: no score for {names}: all {items} items are {of.undefined_word}"
