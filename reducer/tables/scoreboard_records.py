"""Write the scores of a suite without a scale of its own as plain data (docs/reference/scores.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from speechiq.reducer.runs.judge_name import name_judges
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.interval import CONFIDENCE
from speechiq.reducer.tables.records import POOLED, flatten_ends, known
from speechiq.reducer.tables.reliability_table import POOLED as OF_ALL


def as_json(scoreboard: Scoreboard) -> dict[str, Any]:
    """Return a scoreboard as plain data, unrounded, lowest mean rank first; unknown values are None.

    Scores and intervals are as the column has them: an error rate falls with ability. `undefined` is the number of
    items without a score, for categories whose measure counts them; `judge` and `reliability` describe the judge of
    categories that have one.
    """
    pool, bars, remarks, further = scoreboard.pool, scoreboard.bars, scoreboard.remarks, scoreboard.further
    return {
        "measures": {
            category: of.measure.record
            | ({"floor": scoreboard.floors[category]} if category in scoreboard.floors else {})
            for category, of in pool.levels.items()
        },
        "further": {
            column: of.measure.record
            | {"categories": list(further.members[column]), "items": len(further.systems[0].scores[column])}
            for column, of in further.levels.items()
        },
        "clips": {category: len(clips) for category, clips in pool.clips.items()},
        "items": {category: of.items for category, of in remarks.counts.items()},
        "limited": {
            category: {"asked": of.asked, "whole": of.whole} for category, of in remarks.counts.items() if of.limited
        },
        "separates": dict(remarks.separates),
        "identical": [list(names) for names in remarks.identical],
        "mismatches": [of.text for of in scoreboard.mismatches],
        "bootstrap": bars
        and {
            "draws": bars.draws,
            "left_out": bars.left_out,
            "seed": bars.seed,
            "confidence": CONFIDENCE,
            "caution": scoreboard.caution,
        },
        "systems": rows_of(scoreboard),
        "remarks": list(remarks.lines(pool.levels)),
    }


def rows_of(scoreboard: Scoreboard) -> list[dict[str, Any]]:
    """Return one dict per system, lowest mean rank first."""
    return [
        {
            "system": scoreboard.pool.systems[row],
            "mean_rank": known(scoreboard.mean_ranks[row]),
            "control": scoreboard.systems[row].control or None,
            "flags": scoreboard.systems[row].flags._asdict(),
            "mismatches": [of.text for of in scoreboard.mismatches if of.system == scoreboard.pool.systems[row]],
            "categories": {category: _cell(scoreboard, category, row) for category in scoreboard.pool.raw},
            "further": {column: _cell(scoreboard, column, row) for column in scoreboard.further.levels},
        }
        | ({"reliability": scoreboard.reliability[OF_ALL][row].plain} if OF_ALL in scoreboard.reliability else {})
        for row in scoreboard.order
    ]


def csv_rows(
    scoreboard: Scoreboard, others: Mapping[str, Scoreboard], kinds: Mapping[str, Scoreboard], **common: str
) -> list[dict[str, Any]]:
    """Return one row per system, unrounded; columns `<category>_score` and so on.

    Args:
        scoreboard: The scores.
        others: Data set -> the scores on that set alone.
        kinds: Field -> the scores of each kind, with columns `<kind>_score`; their rows name the field as `by`.
        **common: Columns that all rows share.
    """
    parts = [({"dataset": dataset}, of) for dataset, of in ({POOLED: scoreboard} | dict(others)).items()]
    parts += [({"dataset": POOLED, "by": field}, of) for field, of in kinds.items()]
    return [
        _flatten(row) | {"interval_caution": of.caution or ""} | part | common
        for part, of in parts
        for row in rows_of(of)
    ]


def _cell(scoreboard: Scoreboard, column: str, row: int) -> dict[str, Any]:
    measure, bars, holder = scoreboard.columns[column].measure, scoreboard.bars, scoreboard.holder(column, row)
    ends = bars and [known(measure.sign * end[row] + 0.0) for end in bars.intervals[column]]
    cell: dict[str, Any] = {
        "score": known(measure.sign * scoreboard.means[column][row] + 0.0),
        "direction": measure.direction,
        "interval": sorted(end for end in ends if end is not None) or None if ends else None,
        "std": bars and known(bars.std[column][row]),
    }
    if column in scoreboard.ranks:
        rank = known(scoreboard.ranks[column][row])
        cell["rank"] = None if rank is None else int(rank)
    if measure.may_be_undefined:
        cell["undefined"] = holder.count_undefined(column)
    if scoreboard.columns[column].judged and (
        judges := name_judges(task for task in holder.tasks if task.level == column)
    ):
        cell["judge"] = judges
    if column in scoreboard.reliability:
        cell["reliability"] = scoreboard.reliability[column][row].plain
    return cell


def _flatten(row: dict[str, Any]) -> dict[str, Any]:
    cells = {"mean_rank": row["mean_rank"], "system": row["system"]}
    for category, of in {**row["categories"], **row["further"]}.items():
        low, high = of["interval"] or (None, None)
        cells |= {f"{category}_{name}": of[name] for name in ("score", "direction")}
        cells |= {f"{category}_low": low, f"{category}_high": high}
        cells |= {f"{category}_{name}": of[name] for name in ("std", "rank", "undefined", "judge") if name in of}
        cells |= flatten_ends({f"{category}_{name}": value for name, value in of.get("reliability", {}).items()})
    cells |= flatten_ends({f"reliability_{name}": value for name, value in row.get("reliability", {}).items()})
    return {**cells, "control": row["control"], **row["flags"], "mismatches": "; ".join(row["mismatches"])}
