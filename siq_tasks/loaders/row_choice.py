"""Choose rows of a data set by their ids and columns, and read the group of a row, such as the kind of noise.

They are `leave_out`, `where` and `group_columns` of a task's metadata.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from speechiq.core.errors import RowError, SpeechIQError
from speechiq.core.ids import PLAIN
from speechiq.engines.options import Options
from speechiq.metrics.settings import Text
from speechiq.siq_tasks.loaders.odd_rows import Repairs
from speechiq.siq_tasks.loaders.rows import Rows

#: Column -> patterns; a row is taken if each column matches one of its patterns.
Where = dict[str, tuple[str, ...]]
EXAMPLES = 8
#: Item of a clip with its groups, field -> group, for scores by group (`group_by`).
GROUPS = "groups"
#: Group of a row that names none.
UNKNOWN = "unknown"
FORM = "list columns, such as [gender, accent], or write FIELD: {column: COLUMN, values: [VALUE], otherwise: GROUP}"


class ChoiceSettings(Options, frozen=True, kw_only=True):
    """Define which rows are taken, and how they are sorted into groups and clusters."""

    subset: Annotated[Any, Meta(description="Number of clips of the test, or all.")] = "all"
    selection: Annotated[
        Literal["longest-audio", "longest-text"],
        Meta(
            description="Which clips a subset takes: by seconds, as the paper writes, or by characters of the "
            "reference, as in the released numbers."
        ),
    ] = "longest-audio"
    ties: Annotated[
        Literal["id", "order"], Meta(description="Order of clips of one length: by id, or that of the data set.")
    ] = "id"
    leave_out: Annotated[Any, Meta(description="Ids of rows to leave out, separated by `;`, or in a YAML a list.")] = (
        None
    )
    where: Annotated[
        Any,
        Meta(
            description="Rows to take, {column: [value, ...]} in a YAML or as JSON: those whose columns match one of "
            "the values; `*` is any text."
        ),
    ] = None
    group_columns: Annotated[
        Any,
        Meta(
            description="Groups of rows, such as the gender of speakers, for `siq score --group-by FIELD`: columns "
            "with `;` between them; in a YAML also {field: {column: COLUMN, values: [VALUE, ...], otherwise: GROUP}}."
        ),
    ] = None
    cluster_column: Annotated[
        Text | None,
        Meta(
            description="Column with what clips share, such as a speaker "
            "([clusters](../concepts/error_bars.md#clusters)), or none."
        ),
    ] = None
    cluster_pattern: Annotated[
        Text | None,
        Meta(
            description="Regular expression whose one group finds the cluster of a clip in its id, such as the number "
            "of a call, or none."
        ),
    ] = None


def read_where(where: Any) -> Where:
    """Return the columns and patterns of `where`; refuse anything but a mapping of columns to texts.

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
    """Return the rows that match of those at `places`; refuse a choice of none, and name the values of the columns."""
    chosen = {key: i for key, i in places.items() if _matches(rows.read(i), where)}
    if where and not chosen:
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


#: Field of doc -> the column of its groups, whose values are the groups unless some are listed.
GroupColumns = dict[str, GroupColumn | str]


def read_group_columns(value: Any) -> GroupColumns:
    """Return the columns of groups that metadata name; empty for None; refuse a field without a plain name.

    >>> read_group_columns("gender;accent"), read_group_columns({"dialect": "region"})
    ({'gender': 'gender', 'accent': 'accent'}, {'dialect': 'region'})
    """
    names = value.split(";") if isinstance(value, str) else value
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        value = {name.strip(): name.strip() for name in names}
    try:
        columns = msgspec.convert({} if value is None else value, GroupColumns)
    except msgspec.ValidationError as error:
        raise SpeechIQError("metadata.group_columns", f"{value!r:.80} is not valid ({error})", FORM) from error
    for field in columns:
        if not PLAIN.fullmatch(field):
            raise SpeechIQError("metadata.group_columns", f"{field!r:.80} is not a plain name", FORM)
    return columns


def list_columns(columns: GroupColumns) -> list[str]:
    """Return the columns of a data set that groups are read from."""
    return [group if isinstance(group, str) else group.column for group in columns.values()]


def read_groups(columns: GroupColumns, row: Mapping[str, Any], repairs: Repairs) -> dict[str, str]:
    """Return field -> group of one row; a row without one is in the group `unknown`.

    >>> noise = GroupColumn("noise", ("traffic",), "clean")
    >>> read_groups({"kind": noise}, {"noise": "traffic"}, []), read_groups({"kind": "noise"}, {"noise": None}, [])
    ({'kind': 'traffic'}, {'kind': 'unknown'})
    """
    groups = {}
    for field, group in columns.items():
        if isinstance(group, GroupColumn):
            groups[field] = row[group.column] if row[group.column] in group.values else group.otherwise
            continue
        value = row.get(group)
        is_named = isinstance(value, str | int | float) and value == value and str(value).strip()
        groups[field] = str(value).strip() if is_named else UNKNOWN
        if not is_named:
            fix = f"write one in every row, such as {UNKNOWN}"
            repairs.append(RowError(f"no group in {group}", f"{group} is {value!r:.80}", fix))
    return groups


def check_groups(groups: Sequence[Mapping[str, str]], columns: GroupColumns, source: str, *, is_own: bool) -> list[str]:
    """Return a warning for each field with groups of one clip, or with one group for all clips, unless it is listed.

    The second is refused in a user's own table.
    """
    warnings = []
    for field, column in columns.items():
        counts = Counter(each[field] for each in groups)
        if not isinstance(column, str):
            continue
        if len(counts) == 1 and len(groups) > 1:
            error = SpeechIQError(
                f"{source}, {column}",
                f"all {len(groups)} clips have the group {next(iter(counts))!r:.80}",
                "name a column with several groups, or leave it out",
            )
            if is_own:
                raise error
            warnings.append(str(error))
        if single := sorted(group for group, count in counts.items() if count == 1):
            warnings.append(
                f"{field}: {len(single)} of {len(counts)} groups, {single[0]!r:.80} among them, have one clip, and so "
                "no error in scores by group; add clips, or merge groups"
            )
    return warnings
