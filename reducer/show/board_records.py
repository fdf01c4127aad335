"""Write the scores of a suite without a scale of its own as plain data (docs/reference/scores.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from speechiq.reducer.read.judge_name import name_judges
from speechiq.reducer.show.records import POOLED, known
from speechiq.reducer.stats.board import Board
from speechiq.reducer.stats.interval import CONFIDENCE


def as_json(board: Board) -> dict[str, Any]:
    """Return a board as plain data, unrounded, lowest mean rank first; unknown values are None.

    Scores and intervals are as the column has them: an error rate falls with ability. `undefined` is the number of
    items without a score, for categories whose measure counts them; `judge` and `reliability` describe the judge of
    categories that have one.
    """
    pool, bars, remarks = board.pool, board.bars, board.remarks
    measures = {category: of.measure for category, of in pool.levels.items()}
    return {
        "measures": {
            category: {"column": of.column, "direction": of.direction, "unit": of.unit, "chance": of.chance}
            | ({"floor": board.floors[category]} if category in board.floors else {})
            for category, of in measures.items()
        },
        "clips": {category: len(clips) for category, clips in pool.clips.items()},
        "items": {category: of.items for category, of in remarks.counts.items()},
        "limited": {
            category: {"asked": of.asked, "whole": of.whole} for category, of in remarks.counts.items() if of.limited
        },
        "separates": dict(remarks.separates),
        "identical": [list(names) for names in remarks.identical],
        "mismatches": [of.text for of in board.mismatches],
        "bootstrap": bars
        and {
            "draws": bars.draws,
            "left_out": bars.left_out,
            "seed": bars.seed,
            "confidence": CONFIDENCE,
            "caution": board.caution,
        },
        "systems": rows_of(board),
        "remarks": list(remarks.lines(pool.levels)),
    }


def rows_of(board: Board) -> list[dict[str, Any]]:
    """Return one dict per system, lowest mean rank first."""
    return [
        {
            "system": board.pool.systems[row],
            "mean_rank": known(board.mean_ranks[row]),
            "control": board.systems[row].control or None,
            "flags": board.systems[row].flags._asdict(),
            "mismatches": [of.text for of in board.mismatches if of.system == board.pool.systems[row]],
            "categories": {category: _cell(board, category, row) for category in board.pool.raw},
        }
        for row in board.order
    ]


def csv_rows(board: Board, others: Mapping[str, Board], **common: str) -> list[dict[str, Any]]:
    """Return one row per system, unrounded; columns `<category>_score` and so on.

    Args:
        board: The scores.
        others: Data set -> the scores on that set alone.
        **common: Columns that all rows share.
    """
    return [
        _flatten(row) | {"interval_caution": of.caution or "", "dataset": dataset} | common
        for dataset, of in ({POOLED: board} | dict(others)).items()
        for row in rows_of(of)
    ]


def _cell(board: Board, category: str, row: int) -> dict[str, Any]:
    measure, bars = board.pool.levels[category].measure, board.bars
    ends = bars and [known(measure.sign * end[row] + 0.0) for end in bars.intervals[category]]
    rank = known(board.ranks[category][row])
    cell: dict[str, Any] = {
        "score": known(measure.sign * board.means[category][row] + 0.0),
        "interval": sorted(end for end in ends if end is not None) or None if ends else None,
        "std": bars and known(bars.std[category][row]),
        "rank": None if rank is None else int(rank),
    }
    if measure.may_be_undefined:
        cell["undefined"] = board.systems[row].count_undefined(category)
    if board.pool.levels[category].judged:
        cell["judge"] = name_judges(task for task in board.systems[row].tasks if task.level == category)
    if category in board.reliability:
        cell["reliability"] = board.reliability[category][row].plain
    return cell


def _flatten(row: dict[str, Any]) -> dict[str, Any]:
    cells = {"mean_rank": row["mean_rank"], "system": row["system"]}
    for category, of in row["categories"].items():
        low, high = of["interval"] or (None, None)
        cells |= {f"{category}_score": of["score"], f"{category}_low": low, f"{category}_high": high}
        cells |= {f"{category}_{name}": of[name] for name in ("std", "rank", "undefined", "judge") if name in of}
        for name, value in of.get("reliability", {}).items():
            ends = value if isinstance(value, dict) else {"": value}
            cells |= {"_".join(filter(None, (category, name, end))): number for end, number in ends.items()}
    return {**cells, "control": row["control"], **row["flags"], "mismatches": "; ".join(row["mismatches"])}
