"""Hold the options of scoring and comparing suites."""

from typing import NamedTuple

from speechiq.reducer.runs.rows import Item
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.scale import DEFAULT_RULE


class Confirmed(NamedTuple):
    """Hold the sha256 of the wording of a question of the unanswerable set, and the verdict of a person."""

    asked: str
    verdict: str


class ConfirmedSet(dict[Item, Confirmed]):
    """Map (clip, question) -> its wording and verdict, for the questions of an unanswerable set; know its sha256."""

    sha256: str | None = None


NOTHING = ConfirmedSet()


class ScoringOptions(NamedTuple):
    """Hold options of the user; a suite without a scale does not use the first three.

    Attributes:
        weights: Rule of the level weights; None means the default.
        norms: Norms to score on; None makes the systems their own reference population.
        allow_mismatch: Whether systems may have been run on different clips, questions or task versions.
        draws: Number of bootstrap draws; 0 leaves out the error bars.
        by_dataset: Whether each data set is also scored on its own.
        group_by: Field by which items have groups, each of which is also scored on its own; None for no groups.
    """

    weights: str | None = None
    norms: Norms | None = None
    exclude: ConfirmedSet = NOTHING
    allow_mismatch: bool = False
    draws: int = DRAWS
    seed: int = 0
    by_dataset: bool = False
    group_by: str | None = None

    @property
    def rule(self) -> str:
        """Return the rule of the level weights."""
        return self.weights or DEFAULT_RULE
