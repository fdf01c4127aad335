"""Correlate SIQ and the plain metrics with the ranks that people, or other metrics, give to the systems."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.correlation import FEWEST, Correlation, correlate
from speechiq.reducer.stats.grid import INTERVAL, Cell, Column, Grid
from speechiq.siq_tasks.loaders.tables import check_columns, read_field, read_number, read_table


def correlate_ranks(scoreboard: Scoreboard, ranks: Mapping[str, Mapping[str, float]]) -> list[dict[str, Cell]]:
    """Return a record per metric: its correlation with the first column of ranks (paper, Table 3).

    Metrics are SIQ if there is one, each level with its column, and the other columns of ranks. Systems without a rank
    are left out.

    Args:
        ranks: Column -> system -> rank, 1 for the best; as `read_ranks` returns them.
    """
    first, *others = ranks
    systems = [name for name in scoreboard.pool.systems if name in ranks[first]]
    places = [scoreboard.pool.systems.index(name) for name in systems]
    levels = {f"{level} {category.column}": scoreboard.means[level] for level, category in scoreboard.levels.items()}
    scored = ({"SIQ": scoreboard.siq} if scoreboard.has_siq else {}) | levels
    metrics = {name: scores[places].tolist() for name, scores in scored.items()}
    metrics |= {name: [-ranks[name][system] for system in systems] for name in others}
    truth = [-ranks[first][name] for name in systems]
    records = []
    for metric, scores in metrics.items():
        cells: dict[str, Cell] = {"metric": metric, "systems": len(systems)}
        for name, coefficient in correlate(truth, scores)._asdict().items():
            cells |= {name: coefficient.estimate, f"{name}_p": coefficient.p}
        records.append(cells)
    return records


def as_grid(records: Sequence[Mapping[str, Cell]], ranks: str, systems: int) -> Grid:
    """Return a grid with one row per metric: each coefficient with the ranks over its 95 % interval and its p-value."""
    columns = [Column("metric", "Metric"), Column("systems")]
    for name in Correlation._fields:
        columns.append(Column(name, f"{name.title()}\n{INTERVAL}", ".3f", ends=".2f"))
        columns.append(Column(f"{name}_p", "p", ".2g", below=name))
    notes = [
        f"{systems} systems; more is better in every metric, error rates are taken negative",
        "intervals cover the choice of systems, not that of clips",
        *([f"no intervals below {FEWEST} systems"] if systems < FEWEST else []),
    ]
    return Grid(f"Correlation with {ranks}", columns, records, notes)


SYSTEM = "system"
FEWEST_SYSTEMS = 3


def read_ranks(file: Path, systems: Sequence[str]) -> dict[str, dict[str, float]]:
    """Read the ranks of systems, 1 for the best; equal ranks are allowed.

    Args:
        file: A `.csv`, `.tsv` or `.jsonl` table with the column `system` and one column of ranks or more: the first
            is what all others are correlated with, such as the ranks of people.

    Returns:
        Column -> system -> rank, for the systems of the table.
    """
    rows = read_table(file)
    check_columns(rows[0], [SYSTEM], file)
    columns = [name for name in rows[0] if name != SYSTEM]
    if not columns:
        raise SpeechIQError(file, "no column of ranks", f"add one next to {SYSTEM!r}, 1 for the best system")
    ranks: dict[str, dict[str, float]] = {name: {} for name in columns}
    for number, row in enumerate(rows, 1):
        where = f"{file} row {number}"
        name = read_field(row, SYSTEM, where)
        if name not in systems:
            raise SpeechIQError(
                where, f"no run of system {name!r}", f"{did_you_mean(name, systems)}systems are {', '.join(systems)}"
            )
        if name in ranks[columns[0]]:
            raise SpeechIQError(where, f"duplicate system {name!r}", "delete one of the rows")
        for column in columns:
            ranks[column][name] = _read_rank(row, column, where)
    if len(rows) < FEWEST_SYSTEMS:
        raise SpeechIQError(
            file, f"ranks of {count_of(len(rows), 'system')}", f"a correlation needs at least {FEWEST_SYSTEMS}"
        )
    for column, places in ranks.items():
        if len(set(places.values())) == 1:
            raise SpeechIQError(file, f"all systems have the same {column!r}", "a correlation needs different ranks")
    return ranks


def _read_rank(row: Mapping[str, Any], column: str, where: str) -> float:
    value = row.get(column)
    rank = read_number(value)
    if not 0 < rank < math.inf:
        raise SpeechIQError(where, f"{column} is {value!r:.40}, not a rank", "give a number above 0, 1 for the best")
    return rank
