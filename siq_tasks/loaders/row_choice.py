"""Choose rows of a data set by their ids and columns, and read the group of a row, such as the kind of noise.

They are `leave_out`, `where` and `group_columns` of a task's metadata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.ids import PLAIN
from speechiq.siq_tasks.loaders.rows import Rows

#: Column -> patterns; a row is taken if each column matches one of its patterns.
Where = dict[str, tuple[str, ...]]
EXAMPLES = 8
FORM = "write FIELD: {column: COLUMN, values: [VALUE], otherwise: GROUP}"


def read_where(where: Any) -> Where:
    """Return the columns and patterns of `where`.

    Raises:
        SpeechIQError: It is not a mapping of columns to texts.

    >>> read_where({"kind": "PF", "info": ["*stutter*", "*pause*"]})
    {'kind': ('pf',), 'info': ('*stutter*', '*pause*')}
    """
    if where is None:
        return {}
    if isinstance(where, Mapping):
        columns = {str(key): (value if isinstance(value, list | tuple) else [value]) for key, value in where.items()}
        if columns and all(texts and all(isinstance(text, str) for text in texts) for texts in columns.values()):
            return {key: tuple(text.casefold() for text in texts) for key, texts in columns.items()}
    raise SpeechIQError("metadata.where", f"{where!r:.80} does not map columns to values", "write {COLUMN: [VALUE]}")


def read_ids(value: Any) -> frozenset[str]:
    """Return the ids of `leave_out`; lm-eval reads `--metadata leave_out=00012` as the number 12."""
    ids = value.split(";") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
    return frozenset(f"{key:05}" if type(key) is int else str(key).strip() for key in ids if key is not None)


def choose_rows(places: Mapping[str, int], rows: Rows, where: Where, name: str) -> dict[str, int]:
    """Return the rows whose columns match.

    Args:
        places: Id -> number of each row.
        rows: The rows.
        where: From `read_where`.
        name: Name of the data set, for errors.

    Raises:
        SpeechIQError: No row matches; the message has the values of the columns.
    """
    chosen = {key: i for key, i in places.items() if _matches(rows.read(i), where)}
    if not chosen:
        column = next(iter(where))
        values = Counter(str(rows.read(i)[column]) for i in places.values())
        common = ", ".join(f"{value!r:.60} ({count})" for value, count in values.most_common(EXAMPLES))
        raise SpeechIQError(
            name,
            f"no row where {column} is {' or '.join(where[column])}; its values are {common}",
            "correct metadata.where",
        )
    return chosen


def _matches(row: Mapping[str, Any], where: Where) -> bool:
    return all(
        any(fnmatchcase(str(row[column]).casefold(), pattern) for pattern in patterns)
        for column, patterns in where.items()
    )


class GroupColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Name the column with the group of a row, the values that are groups, and the group of rows with another value."""

    column: str
    values: tuple[str, ...]
    otherwise: str


#: Field of doc -> the column of its groups.
GroupColumns = dict[str, GroupColumn]


def read_group_columns(value: Any) -> GroupColumns:
    """Return the columns of groups that metadata name; empty for None.

    Raises:
        SpeechIQError: The value has another form, or a field has no plain name.
    """
    try:
        columns = msgspec.convert({} if value is None else value, GroupColumns)
    except msgspec.ValidationError as error:
        raise SpeechIQError("metadata.group_columns", f"{value!r:.80} is not valid ({error})", FORM) from error
    for field in columns:
        if not PLAIN.fullmatch(field):
            raise SpeechIQError("metadata.group_columns", f"{field!r:.80} is not a plain name", FORM)
    return columns


def read_groups(columns: GroupColumns, row: Mapping[str, Any]) -> dict[str, str]:
    """Return field -> group of one row.

    >>> noise = GroupColumn("noise", ("traffic",), "clean")
    >>> read_groups({"kind": noise}, {"noise": "traffic"}), read_groups({"kind": noise}, {"noise": None})
    ({'kind': 'traffic'}, {'kind': 'clean'})
    """
    return {
        field: row[group.column] if row[group.column] in group.values else group.otherwise
        for field, group in columns.items()
    }
