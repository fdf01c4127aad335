"""Choose the rows of a test, and sort them into groups, such as kinds of noise, and clusters.

Rows are chosen by their ids and columns, and of these the N longest, equal for all users (paper, section 4.1). Clips of
one cluster share a call, a speaker or a passage, and so are not independent.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import regex
from msgspec import Meta

from speechiq.core.console import count_of
from speechiq.core.errors import RowError, SpeechIQError
from speechiq.core.files.tables import read_id
from speechiq.core.ids import PLAIN
from speechiq.engines.options import FORM, Count, Options
from speechiq.metrics.settings import Text
from speechiq.metrics.words.normalizer import normalize
from speechiq.siq_tasks.loaders.odd_rows import MARKED, Repairs
from speechiq.siq_tasks.loaders.rows import Rows

NOT_SCORED = "ignore time segment in scoring"


def check_reference(text: str, normalizer: str) -> None:
    """Raise a `RowError` if a reference cannot be scored: the normalizer leaves no word, or its authors marked it.

    >>> check_reference("Good morning.", "english")
    >>> check_reference("um", "multilingual")
    >>> check_reference("Um...", "english")
    Traceback (most recent call last):
    ...
    speechiq.core.errors.RowError: row: 'Um...' has no word to score
    """
    if text.replace("_", " ").strip().casefold() == NOT_SCORED:
        raise RowError(MARKED)
    if not any(map(str.isalnum, normalize(text, normalizer))):
        raise RowError("no word to score", f"{text!r:.80} has no word to score")


def choose_longest(lengths: Mapping[str, float], size: int | str, ties: str = "id") -> list[str]:
    """Return the ids of the `size` longest, longest first.

    `lengths` has the seconds of audio or the characters of the reference of all clips that can be scored, in the order
    of the data set; `ties` is the order of clips of one length: by `id`, or `order`, that of the data set, as in the
    released numbers.

    >>> choose_longest({"b": 2.0, "a": 2.0, "c": 9.0}, 2)
    ['c', 'a']
    >>> choose_longest({"b": 2.0, "a": 2.0, "c": 9.0}, 2, "order")
    ['c', 'b']
    """
    wanted = len(lengths) if isinstance(size, str) else size
    if wanted > len(lengths):
        fault = f"only {count_of(len(lengths), 'clip')} can be scored"
        raise SpeechIQError(f"subset={size!s:.40}", fault, "give a lower number, or all")
    ordered = sorted(lengths) if ties == "id" else lengths
    return sorted(ordered, key=lambda key: -lengths[key])[:wanted]


def ids_sha256(ids: Sequence[str]) -> str:
    """Return the sha256 of the sorted ids; two runs with the same value used the same clips."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


COLUMN, PATTERN = "cluster_column", "cluster_pattern"
#: Field of a doc with its cluster.
CLUSTER = "cluster"
#: Seconds after which a pattern is refused on one id.
PATIENCE = 1.0
#: Value that turns off the rule of a data set.
NONE = "none"
CLUSTER_FORM = r"write a regular expression with one group, such as ^(\d+)_"
OTHERWISE = f"{CLUSTER_FORM}, or give --metadata {PATTERN}={NONE}"


class ClusterRule(NamedTuple):
    """Name the column with the clusters, or the pattern whose only group finds the cluster in an id."""

    column: str | None
    pattern: str | None

    def find(self, name: str, row: Mapping[str, Any]) -> str:
        """Return the cluster of a row, whose id is `name`."""
        if self.column:
            return read_id(row, self.column)
        try:
            match = regex.search(str(self.pattern), name, timeout=PATIENCE)
        except TimeoutError as error:
            raise SpeechIQError(
                self._key, f"takes longer than {PATIENCE:g} s on the id {name!r:.80}", "avoid repeats inside repeats"
            ) from error
        if match is None or not match[1]:
            raise RowError("no cluster", f"{self._key} finds no cluster in the id {name!r:.80}", OTHERWISE)
        return str(match[1])

    def refuse_one_for_all(self, clusters: Collection[str]) -> None:
        """Refuse a rule by which all clips are in one cluster."""
        if len(clusters) > 1 and len(names := set(clusters)) == 1:
            raise SpeechIQError(
                self._key,
                f"all {len(clusters)} clips are in one cluster, {names.pop()!r:.80}, so that no score has an interval",
                f"name what differs between recordings, or give --metadata {COLUMN if self.column else PATTERN}={NONE}",
            )

    @property
    def _key(self) -> str:
        return f"metadata.{COLUMN}: {self.column}" if self.column else f"metadata.{PATTERN}: {self.pattern}"


#: Column -> patterns; a row is taken if each column matches one of its patterns.
Where = dict[str, tuple[str, ...]]
EXAMPLES = 8
#: Item of a clip with its groups, field -> group, for scores by group (`group_by`), and that with its questions.
GROUPS, QUESTIONS = "groups", "questions"
#: Group of a row that names none.
UNKNOWN = "unknown"
GROUP_FORM = (
    "a list of columns, such as [gender, accent], or {FIELD: {column: COLUMN, values: [VALUE], otherwise: GROUP}}"
)


class GroupColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Name the column with the group of a row, the values that are groups, and the group of rows with another value."""

    column: str
    values: tuple[str, ...]
    otherwise: str


#: Field of doc -> the column of its groups, whose values are the groups unless some are listed.
GroupColumns = dict[str, GroupColumn | str]


#: Column -> a value or several.
WhereColumns = Annotated[
    dict[str, str | Annotated[list[str], Meta(min_length=1)]], Meta(min_length=1, extra={FORM: "{COLUMN: [VALUE]}"})
]


class ChoiceSettings(Options, frozen=True, kw_only=True, dict=True):
    """Define which rows are taken, and how they are sorted into groups and clusters."""

    subset: Annotated[Literal["all"] | Count, Meta(description="Number of clips of the test, or all.")] = "all"
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
    leave_out: Annotated[
        str | int | list[str | int] | None,
        Meta(description="Ids of rows to leave out, separated by `;`, or in a YAML a list."),
    ] = None
    where: Annotated[
        WhereColumns | None,
        Meta(
            description="Rows to take, {column: [value, ...]} in a YAML or as JSON: those whose columns match one of "
            "the values; `*` is any text."
        ),
    ] = None
    group_columns: Annotated[
        str | list[str] | dict[str, str | GroupColumn] | None,
        Meta(
            extra={FORM: GROUP_FORM},
            description="Groups of rows, such as the gender of speakers, for `siq score --group-by FIELD`: columns "
            "with `;` between them; in a YAML also {field: {column: COLUMN, values: [VALUE, ...], otherwise: GROUP}}.",
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

    @property
    def unwanted(self) -> frozenset[str]:
        """Return the ids to leave out; lm-eval reads `--metadata leave_out=00012` as the number 12.

        >>> sorted(ChoiceSettings(leave_out=["a", 12]).unwanted), sorted(ChoiceSettings(leave_out="b; c").unwanted)
        (['00012', 'a'], ['b', 'c'])
        """
        given = [] if self.leave_out is None else self.leave_out
        if isinstance(given, str):
            given = [key.strip() for key in given.split(";")]
        if isinstance(given, int):
            given = [given]
        return frozenset(f"{key:05}" if isinstance(key, int) else key.strip() for key in given)

    @cached_property
    def patterns(self) -> Where:
        """Return the columns and patterns of the rows to take.

        >>> ChoiceSettings(where={"kind": "PF", "info": ["*stutter*", "*pause*"]}).patterns
        {'kind': ('pf',), 'info': ('*stutter*', '*pause*')}
        """
        patterns = {}
        for column, values in (self.where or {}).items():
            texts = [values] if isinstance(values, str) else values
            patterns[column] = tuple(map(str.casefold, texts))
        return patterns

    @cached_property
    def groups(self) -> GroupColumns:
        """Return the columns of groups; refuse a field without a plain name.

        >>> ChoiceSettings(group_columns="gender;accent").groups
        {'gender': 'gender', 'accent': 'accent'}
        """
        given = self.group_columns or {}
        if isinstance(given, str):
            given = given.split(";")
        if isinstance(given, Sequence):
            given = {name.strip(): name.strip() for name in given}
        columns = msgspec.convert(given, GroupColumns)
        for field in columns:
            if not PLAIN.fullmatch(field):
                raise SpeechIQError(
                    f"group_columns={self.group_columns}", f"{field!r:.80} is not a plain name", f"write {GROUP_FORM}"
                )
        return columns

    @cached_property
    def clusters(self) -> ClusterRule | None:
        r"""Return the rule of clusters, None without one or if it is `none`; refuse two rules, and an invalid one.

        >>> ChoiceSettings(cluster_pattern=r"^(\d+)_").clusters
        ClusterRule(column=None, pattern='^(\\d+)_')
        """
        given = (self.cluster_column, self.cluster_pattern)
        column, pattern = (None if value == NONE else value for value in given)
        if column is None and pattern is None:
            return None
        if column is not None and pattern is not None:
            raise SpeechIQError(
                f"metadata.{COLUMN}", f"{PATTERN} is given too", f"give one of the two, and {NONE} for the other"
            )
        if pattern is not None:
            try:
                groups = regex.compile(pattern).groups
            except regex.error as error:
                raise SpeechIQError(f"metadata.{PATTERN}: {pattern:.80}", error, CLUSTER_FORM) from error
            if groups != 1:
                raise SpeechIQError(f"metadata.{PATTERN}: {pattern:.80}", f"has {groups} groups", CLUSTER_FORM)
        return ClusterRule(column, pattern)

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns by which rows are chosen and sorted, each with the setting that names it.

        >>> ChoiceSettings(where={"kind": "PF"}, cluster_column="speaker").columns
        {'kind': 'where', 'speaker': 'cluster_column'}
        """
        groups = [group if isinstance(group, str) else group.column for group in self.groups.values()]
        named = dict.fromkeys(self.patterns, "where") | dict.fromkeys(groups, "group_columns")
        return named | ({self.clusters.column: COLUMN} if self.clusters and self.clusters.column else {})


def choose_rows(places: Mapping[str, int], rows: Rows, where: Where, name: str) -> dict[str, int]:
    """Return the rows that match of those at `places`; refuse a choice of none, and name the values of the columns."""
    chosen = {key: i for key, i in places.items() if matches(rows.read(i), where)}
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


def matches(row: Mapping[str, Any], where: Where) -> bool:
    """Return whether each column of a row matches one of its patterns."""
    for column, patterns in where.items():
        value = str(row[column]).casefold()
        if not any(fnmatchcase(value, pattern) for pattern in patterns):
            return False
    return True


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
