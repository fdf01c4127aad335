"""Define how a suite is scored and compared: the contract that SIQ and every other suite keep."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from speechiq.reducer.read.flags import Flags
from speechiq.reducer.read.measure import Category
from speechiq.reducer.read.results_file import TaskRun
from speechiq.reducer.read.runs import System
from speechiq.reducer.show.scored import Scored
from speechiq.reducer.siq.norms import Norms
from speechiq.reducer.siq.scale import DEFAULT_RULE
from speechiq.reducer.siq.unanswerable import NOTHING, ConfirmedSet
from speechiq.reducer.stats.comparison import Comparison
from speechiq.reducer.stats.draws import DRAWS


class Options(NamedTuple):
    """What a user chose; a suite without a scale does not use the first three.

    Attributes:
        weights: Rule of the level weights; None if none was given.
        norms: Whose scale to use; None makes the systems their own norm.
        exclude: Questions to leave out of Apply.
        allow_mismatch: Whether systems may have been asked other clips, questions or task versions.
        draws: Of the bootstrap; 0 leaves it out.
        seed: Of the bootstrap and of permutations.
        by_dataset: Whether each data set is scored by itself as well.
    """

    weights: str | None = None
    norms: Norms | None = None
    exclude: ConfirmedSet = NOTHING
    allow_mismatch: bool = False
    draws: int = DRAWS
    seed: int = 0
    by_dataset: bool = False

    @property
    def rule(self) -> str:
        """Return the rule of the level weights."""
        return self.weights or DEFAULT_RULE


class Pair(NamedTuple):
    """Two systems of one suite.

    Attributes:
        suite: Name of the suite.
        one: The one system, A.
        other: The other, B.
        others: Further systems, which can set a scale.
        categories: The categories to compare.
        asked: Names of what must agree for a system to be better; None for all.
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
        """Return the failures of A and of B among systems that were narrowed to what they share."""
        by_name = {of.name: of.flags for of in systems}
        return [by_name[of.name] for of in self.both]


class Compared(NamedTuple):
    """The comparison of two systems, ready to be shown and written.

    Attributes:
        found: The comparison.
        flags: Failures of A and of B.
        notes: What is printed below the verdict, a line each.
        content: The content of the JSON file.
        warnings: What may be a mistake of the user, a line each.
        unit: Unit of the clips' parts in the difference.
        texts: Tasks of A and of B whose rows hold the texts to show.
    """

    found: Comparison
    flags: list[Flags]
    notes: list[str]
    content: dict[str, Any]
    warnings: list[str]
    unit: str
    texts: list[list[TaskRun]]


class Scoring(Protocol):
    """How the systems of one suite are scored and compared."""

    def categories(self, tasks: Sequence[TaskRun]) -> Mapping[str, Category]:
        """Return the categories of the suite, each with the column that scores it.

        Args:
            tasks: All that were run of the suite.

        Raises:
            SpeechIQError: Tasks disagree on a category.
        """
        ...

    def score(self, systems: Sequence[System]) -> Scored:
        """Score systems: tables, the content of files, and lm-eval's own format.

        Args:
            systems: As `read_tasks` gives them.

        Raises:
            SpeechIQError: Systems differ in what they were asked and that is not allowed, or cannot be scored.
        """
        ...

    def compare(self, pair: Pair) -> Compared:
        """Compare two systems.

        Args:
            pair: The systems and what is asked of them.

        Raises:
            SpeechIQError: What `score` refuses, or something is asked that the suite lacks.
        """
        ...
