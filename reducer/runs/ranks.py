"""Read a table of ranks: how people, or other metrics, order the systems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.siq_tasks.loaders.tables import check_columns, read_field, read_number, read_table

SYSTEM = "system"
FEWEST_SYSTEMS = 3


def read_ranks(file: Path, systems: Sequence[str]) -> dict[str, dict[str, float]]:
    """Read the ranks of systems, 1 for the best; equal ranks are allowed.

    Args:
        file: A `.csv`, `.tsv` or `.jsonl` table with the column `system` and one column of ranks or more: the first
            is what all others are correlated with, such as the ranks of people.
        systems: Names of the systems that were scored.

    Returns:
        Column -> system -> rank, for the systems of the table.

    Raises:
        SpeechIQError: A column is missing, a system is unknown or a duplicate, a rank is not a number above 0, all
            ranks of a column are equal, or fewer than `FEWEST_SYSTEMS` systems have ranks.
    """
    rows = read_table(file)
    check_columns(rows[0], [SYSTEM], file)
    columns = [name for name in rows[0] if name != SYSTEM]
    if not columns:
        raise SpeechIQError(f"{file}: no column of ranks ; add one next to {SYSTEM!r}, 1 for the best system")
    ranks: dict[str, dict[str, float]] = {name: {} for name in columns}
    for number, row in enumerate(rows, 1):
        where = f"{file} row {number}"
        name = read_field(row, SYSTEM, where)
        if name not in systems:
            raise SpeechIQError(
                f"{where}: no run of system {name!r}; {did_you_mean(name, systems)}systems are {', '.join(systems)}"
            )
        if name in ranks[columns[0]]:
            raise SpeechIQError(f"{where}: duplicate system {name!r}; delete one of the rows")
        for column in columns:
            ranks[column][name] = _read_rank(row, column, where)
    if len(rows) < FEWEST_SYSTEMS:
        raise SpeechIQError(
            f"{file}: ranks of {count_of(len(rows), 'system')}; a correlation needs at least {FEWEST_SYSTEMS}"
        )
    for column, of in ranks.items():
        if len(set(of.values())) == 1:
            raise SpeechIQError(f"{file}: all systems have the same {column!r}; a correlation needs different ranks")
    return ranks


def _read_rank(row: Mapping[str, Any], column: str, where: str) -> float:
    value = row.get(column)
    rank = read_number(value)
    if not 0 < rank < math.inf:
        raise SpeechIQError(f"{where}: {column} is {value!r:.40}, not a rank; give a number above 0, 1 for the best")
    return rank
