"""Score a suite without a scale of its own for `siq score`, category by category."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.by_dataset import split
from speechiq.reducer.scores.scoreboard import Scoreboard, rate, rate_groups
from speechiq.reducer.scores.scoring import Options
from speechiq.reducer.tables import reliability_table
from speechiq.reducer.tables import scoreboard_records as scoreboard_records
from speechiq.reducer.tables import scoreboard_table as scoreboard_table
from speechiq.reducer.tables.dashboards import Export, as_value
from speechiq.reducer.tables.scored import Scored


def score(suite: str, systems: Iterable[System], options: Options) -> Scored:
    """Score the systems of one suite.

    Args:
        suite: Name of the suite.
        systems: As `read_tasks` gives them.
        options: How to score.

    Raises:
        SpeechIQError: What `scoreboard.rate` refuses.
    """
    draws = {"draws": options.draws, "seed": options.seed}
    how: dict[str, Any] = {"allow_mismatch": options.allow_mismatch, **draws}
    scoreboard = reliability_table.add_pooled(rate(suite, systems, **how), **draws)
    parts = split(scoreboard.systems) if options.by_dataset else {}
    sets = {dataset: rate(suite, members, **how) for dataset, members in parts.items()}
    kinds = {field: rate_groups(scoreboard, field, **draws) for field in scoreboard.fields if field == options.by}
    tables = [
        scoreboard_table.as_table(scoreboard),
        *(scoreboard_table.as_table(of, dataset) for dataset, of in sets.items()),
    ]
    tables[1:1] = [reliability_table.as_table(scoreboard)] if scoreboard.reliability else []
    tables += [scoreboard_table.group_table(of, field) for field, of in kinds.items()]
    by_set = {dataset: scoreboard_records.as_json(of) for dataset, of in sets.items()} or None
    by_kind = {field: scoreboard_records.as_json(of) for field, of in kinds.items()} or None
    return Scored(
        tables=tables,
        content=scoreboard_records.as_json(scoreboard) | {"by_dataset": by_set, "by_kind": by_kind},
        rows=lambda common: scoreboard_records.csv_rows(scoreboard, sets, kinds, **common),
        export=export(scoreboard),
        warnings=list(scoreboard.remarks.warnings(effect="")),
    )


def export(scoreboard: Scoreboard) -> Export:
    """Return the scores as lm-eval's files hold them; the group has the mean of ranks and the further columns."""
    mismatches: dict[str, list[str]] = {}
    for of in scoreboard.mismatches:
        mismatches.setdefault(of.system, []).append(of.text)

    def metadata(system: str, category: str) -> dict[str, Any]:
        return {
            "systems": list(scoreboard.pool.systems),
            "mismatches": mismatches.get(system, []),
            "interval_caution": scoreboard.caution,
        }

    return Export(
        suite=scoreboard.suite,
        pool=scoreboard.pool,
        means={category: scoreboard.means[category] for category in scoreboard.pool.raw},
        std=scoreboard.bars.std if scoreboard.bars else {},
        draws=scoreboard.bars.draws if scoreboard.bars else 0,
        flags=[of.flags for of in scoreboard.systems],
        of_group=[
            {"mean_rank,none": as_value(of)} | _further(scoreboard, row) for row, of in enumerate(scoreboard.mean_ranks)
        ],
        of_task=[_undefined(scoreboard, system) for system in scoreboard.systems],
        higher=(
            {"mean_rank": False}
            | {column: of.measure.direction == "higher" for column, of in scoreboard.further.levels.items()},
            {},
        ),
        metadata=metadata,
    )


def _further(scoreboard: Scoreboard, row: int) -> dict[str, float | str]:
    """Return the means of a system's further columns, with their standard errors."""
    values: dict[str, float | str] = {}
    for column, of in scoreboard.further.levels.items():
        values[f"{column},none"] = as_value(of.measure.sign * scoreboard.means[column][row] + 0.0)
        values[f"{column}_stderr,none"] = as_value(scoreboard.bars.std[column][row] if scoreboard.bars else None)
    return values


def _undefined(scoreboard: Scoreboard, system: System) -> dict[str, dict[str, float | str]]:
    """Return category -> the number of a system's items without a score, for categories that may have such items."""
    return {
        category: {"undefined,none": float(system.count_undefined(category))}
        for category, of in scoreboard.pool.levels.items()
        if of.measure.may_be_undefined
    }
