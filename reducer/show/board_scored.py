"""Score a suite without a scale of its own for `siq score`, category by category."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from speechiq.reducer.read.runs import System
from speechiq.reducer.scoring import Options
from speechiq.reducer.show import board_records, board_table, reliability_table
from speechiq.reducer.show.dashboards import Export, as_value
from speechiq.reducer.show.scored import Scored
from speechiq.reducer.siq.by_dataset import split
from speechiq.reducer.stats.board import Board, rate


def score(suite: str, systems: Iterable[System], options: Options) -> Scored:
    """Score the systems of one suite.

    Args:
        suite: Name of the suite.
        systems: As `read_tasks` gives them.
        options: How to score.

    Raises:
        SpeechIQError: What `board.rate` refuses.
    """
    how: dict[str, Any] = {"allow_mismatch": options.allow_mismatch, "draws": options.draws, "seed": options.seed}
    board = rate(suite, systems, **how)
    parts = split(board.systems) if options.by_dataset else {}
    sets = {dataset: rate(suite, members, **how) for dataset, members in parts.items()}
    tables = [board_table.as_table(board), *(board_table.as_table(of, dataset) for dataset, of in sets.items())]
    tables[1:1] = [reliability_table.as_table(board)] if board.reliability else []
    by_set = {dataset: board_records.as_json(of) for dataset, of in sets.items()} or None
    return Scored(
        tables=tables,
        content=board_records.as_json(board) | {"by_dataset": by_set},
        rows=lambda common: board_records.csv_rows(board, sets, **common),
        export=export(board),
        warnings=list(board.remarks.warnings(effect="")),
    )


def export(board: Board) -> Export:
    """Return the scores as lm-eval's files hold them; the group has the mean of a system's ranks."""
    mismatches: dict[str, list[str]] = {}
    for of in board.mismatches:
        mismatches.setdefault(of.system, []).append(of.text)

    def metadata(system: str, category: str) -> dict[str, Any]:
        return {
            "systems": list(board.pool.systems),
            "mismatches": mismatches.get(system, []),
            "interval_caution": board.caution,
        }

    return Export(
        suite=board.suite,
        pool=board.pool,
        means=board.means,
        std=board.bars.std if board.bars else {},
        draws=board.bars.draws if board.bars else 0,
        flags=[of.flags for of in board.systems],
        of_group=[{"mean_rank,none": as_value(of)} for of in board.mean_ranks],
        of_task=[_undefined(board, system) for system in board.systems],
        higher=({"mean_rank": False}, {}),
        metadata=metadata,
    )


def _undefined(board: Board, system: System) -> dict[str, dict[str, float | str]]:
    """Return category -> the number of a system's items without a score, for categories that may have such items."""
    return {
        category: {"undefined,none": float(system.count_undefined(category))}
        for category, of in board.pool.levels.items()
        if of.measure.may_be_undefined
    }
