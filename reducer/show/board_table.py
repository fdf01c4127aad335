"""Show the scores of a suite without a scale of its own: a table by category, with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.reducer.read.choice import others_than_usual
from speechiq.reducer.read.conditions import summarize
from speechiq.reducer.read.judge_name import name_judges
from speechiq.reducer.read.measure import Measure
from speechiq.reducer.show.board_records import rows_of
from speechiq.reducer.show.remarks import title
from speechiq.reducer.show.table import FLAGS, MISMATCH, SYSTEM, UNKNOWN, count, flag_lines, show_share, shown_flags
from speechiq.reducer.stats.board import Board

CONSTANT = "the most frequent answer of each data set alone scores"
ORDER = "in the order of mean rank over the categories; their scores are not combined, since units may differ"


def as_table(board: Board, dataset: str = "") -> Table:
    """Return a table of mean scores over their 95 % intervals, one column per category.

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
    for category, of in board.pool.levels.items():
        heading = f"{title(category)}\n{of.unit}" + "\n95 % interval" * (board.bars is not None)
        table.add_column(Text(heading), justify="right", no_wrap=True)
    for flag in flags:
        table.add_column(f"{FLAGS[flag][0]}\n%", justify="right", no_wrap=True)
    for row in rows:
        mark = f" {MISMATCH}" * bool(row["mismatches"])
        name = "\n".join([row["system"] + mark, *[f"control: {row['control']}"] * bool(row["control"])])
        table.add_row(
            UNKNOWN if row["mean_rank"] is None else f"{row['mean_rank']:.3g}",
            Text(name),
            *("\n".join(_cell(board, category, row["categories"][category])) for category in board.pool.levels),
            *(show_share(row["flags"][flag]) for flag in flags),
        )
    table.caption = Text("\n".join(caption(board)))
    return table


def caption(board: Board) -> Iterator[str]:
    """Yield the lines below the table: the size of the suite, mismatches, and the meaning of the columns."""
    levels, bars = board.pool.levels, board.bars
    yield f"suite {board.suite}: {count(board.systems, 'system')}"
    if board.mismatches:
        yield f"{MISMATCH} not asked the same, scored on shared items: {summarize(board.mismatches)}"
    yield ORDER if len(levels) > 1 else "in the order of rank"
    yield from board.remarks.lines(levels)
    yield from _undefined_lines(board)
    if bars:
        left_out = f", {bars.left_out} of them left out: they have no clip of some category"
        yield f"intervals from {bars.draws} draws of clips, seed {bars.seed}" + left_out * bool(bars.left_out)
        yield from filter(None, [board.caution])
    if others := others_than_usual(levels):
        yield f"measures: {', '.join(f'{level}={column}' for level, column in others.items())}"
    yield from _judge_lines(board)
    for category, of in levels.items():
        chance = of.measure.shown_chance
        by_chance = "" if chance is None else f"; by chance {chance:.4g}{' %' * of.measure.in_per_cent}"
        by_floor = f"; {CONSTANT} {_show(of.measure, board.floors[category])}" if category in board.floors else ""
        yield f"{title(category)}: {of.unit}, {of.measure.direction} is better{by_chance}{by_floor}"
    yield from flag_lines(rows_of(board))


def _show(measure: Measure, value: float) -> str:
    """Return a value of a column as people read it, with its per cent sign."""
    return f"{100 * value:.2f} %" if measure.in_per_cent else f"{value:.4g}"


def _cell(board: Board, category: str, of: dict[str, Any]) -> Iterator[str]:
    level = board.pool.levels[category]
    factor = 100.0 if level.measure.in_per_cent else 1.0
    yield UNKNOWN if of["score"] is None else f"{factor * of['score']:z.2f}"
    if of["interval"]:
        low, high = of["interval"]
        yield f"{factor * low:z.1f} to {factor * high:z.1f}"
    if of.get("undefined"):
        yield f"{of['undefined']} of {board.remarks.counts[category].items} {level.undefined_word}"


def _judge_lines(board: Board) -> Iterator[str]:
    """Yield who judged each category; if systems were judged by several judges, the systems of each."""
    for category, of in board.pool.levels.items():
        judges: dict[str, list[str]] = {}
        for system in board.systems if of.judged else ():
            tasks = (task for task in system.tasks if task.level == category)
            judges.setdefault(name_judges(tasks), []).append(system.name)
        shown = [judge + f" ({', '.join(names)})" * (len(judges) > 1) for judge, names in judges.items()]
        if shown:
            yield f"{title(category)}: {'; '.join(shown)}"


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
