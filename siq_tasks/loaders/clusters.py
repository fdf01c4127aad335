"""Read the clusters of rows: which clips share a call, a speaker or a passage, and so are not independent.

They are `cluster_column` and `cluster_pattern` of a task's metadata.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import regex

from speechiq.core.errors import RowError, SpeechIQError
from speechiq.core.files.tables import read_id

COLUMN, PATTERN = "cluster_column", "cluster_pattern"
#: Field of a doc with its cluster.
CLUSTER = "cluster"
#: Seconds after which a pattern is refused on one id.
PATIENCE = 1.0
#: Value that turns off the rule of a data set.
NONE = "none"
FORM = r"write a regular expression with one group, such as ^(\d+)_"
OTHERWISE = f"{FORM}, or give --metadata {PATTERN}={NONE}"


class ClusterRule(NamedTuple):
    """Name the column with the clusters, or the pattern whose only group finds the cluster in an id."""

    column: str | None = None
    pattern: str | None = None

    @property
    def columns(self) -> list[str]:
        """Return the columns that the rule reads."""
        return [self.column] if self.column else []

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


def read_cluster_rule(column: str | None, pattern: str | None) -> ClusterRule | None:
    r"""Return the rule that metadata name, None without one or if it is `none`; refuse two rules, and an invalid one.

    >>> read_cluster_rule(None, r"^(\d+)_")
    ClusterRule(column=None, pattern='^(\\d+)_')
    """
    column, pattern = (None if value == NONE else value for value in (column, pattern))
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
            raise SpeechIQError(f"metadata.{PATTERN}: {pattern:.80}", error, FORM) from error
        if groups != 1:
            raise SpeechIQError(f"metadata.{PATTERN}: {pattern:.80}", f"has {groups} groups", FORM)
    return ClusterRule(column, pattern)
