"""Read numbers that users declare about systems in a table, such as their sizes or their prices."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.tables import check_columns, read_field, read_table

#: The column that names a system.
SYSTEM = "system"


def read_declared(
    file: Path, columns: Sequence[str], what: str, read: Callable[[str, Any, str], float]
) -> dict[str, dict[str, float]]:
    """Read system -> column -> number from a table with the column `system`; a column without a cell is left out.

    Rows of other systems than those of a run are allowed, so that one table serves many runs.

    Args:
        columns: Names of the columns of numbers, of which the table has at least one.
        what: What they are, in the plural, for the error.
        read: Reads a cell from its column, its value and its place in the file, or refuses it.
    """
    rows = read_table(file)
    check_columns(rows[0], [SYSTEM], file)
    if rows[0].keys().isdisjoint(columns):
        raise SpeechIQError(file, f"no column of {what}", f"add {', '.join(columns)} or some of them")
    declared: dict[str, dict[str, float]] = {}
    for number, row in enumerate(rows, 1):
        where = f"{file} row {number}"
        name = read_field(row, SYSTEM, where)
        if name in declared:
            raise SpeechIQError(where, f"duplicate system {name!r}", "delete one of the rows")
        given = {column: row[column] for column in columns if row.get(column) not in (None, "")}
        declared[name] = {column: read(column, value, where) for column, value in given.items()}
    return declared
