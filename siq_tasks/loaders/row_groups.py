"""Read the group of a row from a column, such as the kind of noise: `group_columns` of a task's metadata."""

from __future__ import annotations

from typing import Any

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.ids import PLAIN
from speechiq.siq_tasks.loaders.rows import Rows

FORM = "write FIELD: {column: COLUMN, values: [VALUE], otherwise: GROUP}"


class GroupColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describe the column that names the group of a row.

    Attributes:
        column: Its name.
        values: Values that are groups.
        otherwise: The group of a row with any other value or none.
    """

    column: str
    values: tuple[str, ...]
    otherwise: str

    def read(self, value: Any) -> str:
        """Return the group of a row.

        >>> noise = GroupColumn("noise", ("traffic",), "clean")
        >>> noise.read("traffic"), noise.read(None)
        ('traffic', 'clean')
        """
        return value if value in self.values else self.otherwise


#: Field of doc -> the column of its groups.
GroupColumns = dict[str, GroupColumn]


def read_group_columns(value: Any) -> GroupColumns:
    """Return the columns of groups that metadata name; empty for None.

    Raises:
        SpeechIQError: The value has another form, or a field has no plain name.
    """
    try:
        found = msgspec.convert({} if value is None else value, GroupColumns)
    except msgspec.ValidationError as error:
        raise SpeechIQError(f"metadata.group_columns: {value!r:.80} is not valid ({error}); {FORM}") from error
    for field in found:
        if not PLAIN.fullmatch(field):
            raise SpeechIQError(f"metadata.group_columns: {field!r:.80} is not a plain name; {FORM}")
    return found


def read_groups(columns: GroupColumns, rows: Rows, number: int) -> dict[str, str]:
    """Return field -> group of one row."""
    row = rows.read(number)
    return {field: of.read(row[of.column]) for field, of in columns.items()}
