"""Survive odd rows of published data: each is repaired by a rule or left out, counted by reason, and shown in one line.

The rows of a user's own table are refused instead, since the user can correct them.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from speechiq.core.console import count_of, list_some, printable
from speechiq.core.errors import RowError, SpeechIQError

#: Largest share of the rows that may be left out; one row alone never stops a run.
MOST_LEFT_OUT = 0.05
#: What a user can do if too many rows of a data set cannot be scored.
_ADVICE = "name other columns, correct the rows, or leave rows out with --metadata leave_out=ID"
#: Reason of rows that their authors marked; they are left out of every table.
MARKED = "marked as not to be scored"
#: Reason of rows that none of the tasks of their data set takes; `OddRows.untaken` of them, which stop no run.
UNTAKEN = "of no task of the data set"
#: What was repaired in one row.
Repairs = list[RowError]


class OddRows:
    """Collect the names of the rows that were repaired and left out, by reason; refuse them if they are a user's own.

    Args:
        source: Name of the data set or file, for errors.
        own_fix: What a user can do about an odd row of the table; None for published data.
        advice: What a user can do if too many rows cannot be scored.
    """

    def __init__(self, source: object, own_fix: str | None = None, advice: str = _ADVICE) -> None:
        self.source, self.own_fix, self.advice = source, own_fix, advice
        self.rows = self.untaken = 0
        self.repaired: dict[str, list[str]] = defaultdict(list)
        self.left_out: dict[str, list[str]] = defaultdict(list)
        self._examples: dict[str, str] = {}

    @property
    def is_own(self) -> bool:
        """Return whether the rows are those of a user's own table."""
        return self.own_fix is not None

    @contextmanager
    def reading(self, where: object, *names: str) -> Iterator[Repairs]:
        """Yield the list for the repairs of what is read inside the block, and leave it out if it cannot be scored.

        Args:
            where: File and row, for errors.
            names: Names of the rows that are read together.
        """
        repairs = Repairs()
        try:
            yield repairs
            if repairs and self.is_own:
                raise repairs[0]
        except RowError as error:
            if self.is_own and error.reason != MARKED:
                raise RowError(error.reason, error.fault, error.fix or self.own_fix, where) from error
            self.left_out[error.reason] += names
            self._examples.setdefault(error.reason, f"{where}: {error.fault}")
        else:
            for reason in dict.fromkeys(repair.reason for repair in repairs):
                self.repaired[reason] += names

    def count(self) -> int:
        """Count the rows that are left out."""
        return sum(map(len, self.left_out.values()))

    @property
    def example(self) -> str:
        """Name the first row that is left out, and say why; empty if all rows can be scored."""
        return next(iter(self._examples.values()), "")

    def check(self) -> None:
        """Refuse data of whose rows too many are left out, or all; those that are marked do not count as too many."""
        count = self.count() - len(self.left_out.get(MARKED, ()))
        is_empty = self.count() >= self.rows
        if is_empty or count > max(1, MOST_LEFT_OUT * self.rows):
            named = [f"{reason} {len(names)} ({list_some(names)})" for reason, names in self.left_out.items()]
            limit = "all of them" if is_empty else f"more than {100 * MOST_LEFT_OUT:g} %"
            common = max(self.left_out, key=lambda reason: len(self.left_out[reason]))
            raise SpeechIQError(
                self.source,
                f"{count} of {count_of(self.rows, 'row')} cannot be scored, {limit}: {', '.join(named)}; "
                f"{self._examples[common]}",
                self.advice,
            )

    def record(self) -> dict[str, Any]:
        """Return the record for the results: the number of rows, and reason -> number of rows repaired and left out."""
        repaired = {reason: len(names) for reason, names in self.repaired.items()}
        left_out = {reason: len(names) for reason, names in self.left_out.items()}
        if self.untaken:
            left_out[UNTAKEN] = self.untaken
        return {"rows": self.rows, "repaired": repaired, "left_out": left_out}


class OddRecord(msgspec.Struct):
    """Hold what the metadata of a task record of its rows; see `OddRows.record`."""

    rows: int = 0
    repaired: dict[str, int] = {}
    left_out: dict[str, int] = {}


def describe_odd_rows(metadata: Mapping[str, Any]) -> str:
    """Return the line about the rows that a task recorded; empty if no row is odd, and for a record of another form.

    >>> describe_odd_rows({"rows": 900, "repaired": {"equal options": 2}, "left_out": {"no answer": 1, "no audio": 3}})
    'of 900 rows, repaired: equal options 2; left out: no answer 1, no audio 3'
    """
    try:
        record = msgspec.convert(metadata, OddRecord)
    except msgspec.ValidationError:
        return ""
    parts = []
    for fate, counts in (("repaired", record.repaired), ("left out", record.left_out)):
        named = ", ".join(f"{reason} {count}" for reason, count in counts.items())
        if named:
            parts.append(f"{fate}: {named}")
    return printable(f"of {count_of(record.rows, 'row')}, {'; '.join(parts)}") if parts else ""
