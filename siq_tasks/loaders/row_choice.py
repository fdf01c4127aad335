"""Choose rows of a data set by their ids or the values of their columns: `leave_out` and `where` of the metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.loaders.rows import Rows

#: Column -> patterns; a row is taken if each column matches one of its patterns.
Where = dict[str, tuple[str, ...]]
EXAMPLES = 8


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
        found = {str(key): (value if isinstance(value, list | tuple) else [value]) for key, value in where.items()}
        if found and all(texts and all(isinstance(text, str) for text in texts) for texts in found.values()):
            return {key: tuple(text.casefold() for text in texts) for key, texts in found.items()}
    raise SpeechIQError(f"metadata.where: {where!r:.80} does not map columns to values; write {{COLUMN: [VALUE]}}")


def read_ids(value: Any) -> frozenset[str]:
    """Return the ids of `leave_out`; lm-eval reads `--metadata leave_out=00012` as the number 12."""
    given = value.split(";") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
    return frozenset(f"{one:05}" if type(one) is int else str(one).strip() for one in given if one is not None)


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
            f"{name}: no row where {column} is {' or '.join(where[column])}; its values are {common}; correct "
            f"metadata.where"
        )
    return chosen


def _matches(row: Mapping[str, Any], where: Where) -> bool:
    return all(
        any(fnmatchcase(str(row[column]).casefold(), pattern) for pattern in patterns)
        for column, patterns in where.items()
    )
