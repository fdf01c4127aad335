"""Read the kind of a row from a column, such as the kind of noise: `kind_columns` of a task's metadata."""

from __future__ import annotations

from typing import Any

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.ids import PLAIN
from speechiq.siq_tasks.loaders.rows import Rows

FORM = "write FIELD: {column: COLUMN, kinds: [VALUE], otherwise: KIND}"


class KindColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describe the column that names the kind of a row.

    Attributes:
        column: Its name.
        kinds: Values that are kinds.
        otherwise: The kind of a row with any other value or none.
    """

    column: str
    kinds: tuple[str, ...]
    otherwise: str

    def read(self, value: Any) -> str:
        """Return the kind of a row.

        >>> noise = KindColumn("noise", ("traffic",), "clean")
        >>> noise.read("traffic"), noise.read(None)
        ('traffic', 'clean')
        """
        return value if value in self.kinds else self.otherwise


#: Field of doc -> the column of its kinds.
KindColumns = dict[str, KindColumn]


def read_kind_columns(value: Any) -> KindColumns:
    """Return the columns of kinds that metadata name; empty for None.

    Raises:
        SpeechIQError: The value has another form, or a field has no plain name.
    """
    try:
        found = msgspec.convert({} if value is None else value, KindColumns)
    except msgspec.ValidationError as error:
        raise SpeechIQError(f"metadata.kind_columns: {value!r:.80} is not valid ({error}); {FORM}") from error
    for field in found:
        if not PLAIN.fullmatch(field):
            raise SpeechIQError(f"metadata.kind_columns: {field!r:.80} is not a plain name; {FORM}")
    return found


def read_kinds(columns: KindColumns, rows: Rows, number: int) -> dict[str, str]:
    """Return field -> kind of one row."""
    row = rows.read(number)
    return {field: of.read(row[of.column]) for field, of in columns.items()}
