"""Define how a suite is scored and compared: the protocol of SIQ and every other suite."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from speechiq.reducer.runs.flags import Flags
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.scale import DEFAULT_RULE
from speechiq.reducer.studies.comparison import Comparison
from speechiq.reducer.studies.unanswerable import NOTHING, ConfirmedSet
from speechiq.reducer.tables.scored import Scored


class Options(NamedTuple):
    """Options of the user; a suite without a scale does not use the first three.

    Attributes:
        weights: Rule of the level weights; None means the default.
        norms: Norms to score on; None makes the systems their own reference population.
        exclude: Questions to leave out of Apply.
        allow_mismatch: Whether systems may have been run on different clips, questions or task versions.
        draws: Number of bootstrap draws; 0 leaves out the error bars.
        seed: Seed of draws and permutations.
        by_dataset: Whether each data set is also scored on its own.
        by: Field by which items have kinds (`group_by`), each of which is also scored on its own; None for no kinds.
    """

    weights: str | None = None
    norms: Norms | None = None
    exclude: ConfirmedSet = NOTHING
    allow_mismatch: bool = False
    draws: int = DRAWS
    seed: int = 0
    by_dataset: bool = False
    by: str | None = None

    @property
    def rule(self) -> str:
        """Return the rule of the level weights."""
        return self.weights or DEFAULT_RULE


class Pair(NamedTuple):
    """Two systems of one suite.

    Attributes:
        suite: Name of the suite.
        one: System A.
        other: System B.
        others: Further systems, which can set a scale.
        categories: The categories to compare.
        asked: Names of the scores that must agree for a system to be better; None means all.
    """

    suite: str
    one: System
    other: System
    others: Sequence[System]
    categories: Mapping[str, Category]
    asked: Collection[str] | None

    @property
    def both(self) -> tuple[System, System]:
        """Return A and B."""
        return self.one, self.other

    def flags(self, systems: Iterable[System]) -> list[Flags]:
        """Return the flags of A and of B, from systems that were narrowed to the items that they share."""
        by_name = {system.name: system.flags for system in systems}
        return [by_name[system.name] for system in self.both]


class Compared(NamedTuple):
    """The comparison of two systems, ready to show and write.

    Attributes:
        found: The comparison.
        flags: Flags of A and of B.
        notes: Lines that are printed below the verdict.
        content: The content of the JSON file.
        warnings: Possible mistakes of the user, one line each.
        unit: Unit of the clips' parts in the difference.
        texts: Tasks of A and of B whose rows have the texts to show.
    """

    found: Comparison
    flags: list[Flags]
    notes: list[str]
    content: dict[str, Any]
    warnings: list[str]
    unit: str
    texts: list[list[TaskRun]]


class Scoring(Protocol):
    """Scoring and comparison of the systems of one suite."""

    def categories(self, tasks: Sequence[TaskRun]) -> Mapping[str, Category]:
        """Return the categories of the suite, each with the column that scores it.

        Args:
            tasks: All tasks of the suite in the runs.

        Raises:
            SpeechIQError: Tasks disagree on a category.
        """
        ...

    def score(self, systems: Sequence[System]) -> Scored:
        """Score systems: tables, the content of files, and results in lm-eval's format.

        Args:
            systems: As `read_tasks` returns them.

        Raises:
            SpeechIQError: Systems differ in clips, questions or tasks and that is not allowed, or cannot be scored.
        """
        ...

    def compare(self, pair: Pair) -> Compared:
        """Compare two systems.

        Args:
            pair: The systems, and the scores that must agree.

        Raises:
            SpeechIQError: As for `score`, or a score that must agree is not in the suite.
        """
        ...
