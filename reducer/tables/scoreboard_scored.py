"""Score a suite without a scale of its own for `siq score`, category by category."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.by_dataset import split
from speechiq.reducer.scores.scoreboard import Board, rate, rate_kinds
from speechiq.reducer.scores.scoring import Options
from speechiq.reducer.tables import reliability_table
from speechiq.reducer.tables import scoreboard_records as board_records
from speechiq.reducer.tables import scoreboard_table as board_table
from speechiq.reducer.tables.dashboards import Export, as_value
from speechiq.reducer.tables.scored import Scored


def score(suite: str, systems: Iterable[System], options: Options) -> Scored:
    """Score the systems of one suite.

    Args:
        suite: Name of the suite.
        systems: As `read_tasks` gives them.
        options: How to score.

    Raises:
        SpeechIQError: What `board.rate` refuses.
    """
    draws = {"draws": options.draws, "seed": options.seed}
    how: dict[str, Any] = {"allow_mismatch": options.allow_mismatch, **draws}
    board = reliability_table.add_pooled(rate(suite, systems, **how), **draws)
    parts = split(board.systems) if options.by_dataset else {}
    sets = {dataset: rate(suite, members, **how) for dataset, members in parts.items()}
    kinds = {field: rate_kinds(board, field, **draws) for field in board.fields if field == options.by}
    tables = [board_table.as_table(board), *(board_table.as_table(of, dataset) for dataset, of in sets.items())]
    tables[1:1] = [reliability_table.as_table(board)] if board.reliability else []
    tables += [board_table.kinds_table(of, field) for field, of in kinds.items()]
    by_set = {dataset: board_records.as_json(of) for dataset, of in sets.items()} or None
    by_kind = {field: board_records.as_json(of) for field, of in kinds.items()} or None
    return Scored(
        tables=tables,
        content=board_records.as_json(board) | {"by_dataset": by_set, "by_kind": by_kind},
        rows=lambda common: board_records.csv_rows(board, sets, kinds, **common),
        export=export(board),
        warnings=list(board.remarks.warnings(effect="")),
    )


def export(board: Board) -> Export:
    """Return the scores as lm-eval's files hold them; the group has the mean of ranks and the further columns."""
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
        means={category: board.means[category] for category in board.pool.raw},
        std=board.bars.std if board.bars else {},
        draws=board.bars.draws if board.bars else 0,
        flags=[of.flags for of in board.systems],
        of_group=[{"mean_rank,none": as_value(of)} | _further(board, row) for row, of in enumerate(board.mean_ranks)],
        of_task=[_undefined(board, system) for system in board.systems],
        higher=(
            {"mean_rank": False}
            | {column: of.measure.direction == "higher" for column, of in board.further.levels.items()},
            {},
        ),
        metadata=metadata,
    )


def _further(board: Board, row: int) -> dict[str, float | str]:
    """Return the means of a system's further columns, with their standard errors."""
    values: dict[str, float | str] = {}
    for column, of in board.further.levels.items():
        values[f"{column},none"] = as_value(of.measure.sign * board.means[column][row] + 0.0)
        values[f"{column}_stderr,none"] = as_value(board.bars.std[column][row] if board.bars else None)
    return values


def _undefined(board: Board, system: System) -> dict[str, dict[str, float | str]]:
    """Return category -> the number of a system's items without a score, for categories that may have such items."""
    return {
        category: {"undefined,none": float(system.count_undefined(category))}
        for category, of in board.pool.levels.items()
        if of.measure.may_be_undefined
    }
