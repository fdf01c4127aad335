"""Build norms from a pool of systems: its scale, and everything that the scale depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from speechiq.core.checksummed import add_checksum, shorten
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.read.conditions import Scalar, by_level, compare_systems, summarize
from speechiq.reducer.read.runs import System
from speechiq.reducer.read.samples import Item
from speechiq.reducer.siq.levels import LEVELS
from speechiq.reducer.siq.scale import DEFAULT_RULE, LevelScale, Scale, calibrate
from speechiq.reducer.stats.pool import align, levels_of

SCHEMA = "speechiq-norms"
VERSION = 1


class LevelNorms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One level of the norms.

    Attributes:
        metric: The column of a sample row that was read.
        mean: Mean of X_j over the pool's systems (eq. 5).
        std: Standard deviation of X_j over the pool's systems, above 0.
        spread: Standard deviation of all raw scores of the pool's systems, which eq. 6 divides by, above 0.
        weight: The level's share of the SIQ (eq. 6); the shares sum to 1.
        tasks: What the scores hang on, for each of the level's tasks (`conditions.read_conditions`).
        clips: clip -> V_i of eq. 3, sorted by clip.
        questions: clip -> ids of its questions, sorted; empty at a level that asks none.
    """

    metric: str
    mean: float
    std: float
    spread: float
    weight: float
    tasks: list[dict[str, Scalar]]
    clips: dict[str, float]
    questions: dict[str, list[str]]

    @property
    def items(self) -> set[Item]:
        """What a system must have answered."""
        if not self.questions:
            return {(clip,) for clip in self.clips}
        return {(clip, question) for clip, questions in self.questions.items() for question in questions}


class Norms(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A frozen pool.

    Attributes:
        name: What people call it.
        rule: Of the level weights, as for `siq.share_out`.
        systems: Names of the pool's systems, sorted.
        excluded: The sha256 of the set whose questions were left out of Apply; None where none was.
        levels: level -> its part, in the order of `LEVELS`.
    """

    name: str
    rule: str
    systems: list[str]
    excluded: str | None
    levels: dict[str, LevelNorms]

    @cached_property
    def frozen(self) -> dict[str, Any]:
        """The content of the norms' file."""
        return add_checksum(SCHEMA, VERSION, msgspec.to_builtins(self))

    @property
    def sha256(self) -> str:
        """Of the content of the norms' file."""
        return str(self.frozen["sha256"])

    @property
    def title(self) -> str:
        """Name and short hash, for tables."""
        return f"{self.name} ({shorten(self.sha256)})"

    @property
    def items(self) -> dict[str, set[Item]]:
        """level -> what a system must have answered."""
        return {level: of.items for level, of in self.levels.items()}

    @property
    def scale(self) -> Scale:
        """What the norms' own clips are scored on."""
        return self.scale_of({level: sorted(of.clips) for level, of in self.levels.items()})

    def scale_of(self, clips: Mapping[str, Iterable[str]]) -> Scale:
        """Return the scale for some of the norms' clips.

        Args:
            clips: level -> clips in the order of the pool that is to be scored; levels that it lacks are left out.

        Raises:
            SpeechIQError: On some level no clip tells systems apart.
        """
        levels = {}
        for level, names in clips.items():
            of = self.levels[level]
            weights = np.array([of.clips[clip] for clip in names])
            if not weights.any():
                raise SpeechIQError(
                    f"level {level}: none of the {len(weights)} clips shared with norms {self.name!r} tells "
                    "systems apart; run all clips of the norms"
                )
            levels[level] = LevelScale(weights, of.mean, of.std, of.weight, of.spread)
        return Scale(self.rule, levels)


def build(systems: Iterable[System], name: str, rule: str = DEFAULT_RULE) -> Norms:
    """Freeze a pool of systems.

    Args:
        systems: As `read_systems` gives them.
        name: What the norms are called.
        rule: Of the level weights, as for `siq.share_out`.

    Raises:
        SpeechIQError: A name that does not print, systems that were not asked the same under the same conditions, or a
            pool that sets no scale.
    """
    if not (name.strip() and name.isprintable()):
        raise SpeechIQError(f"norms need a name that prints, not {name!r}; give --name")
    systems = list(systems)
    measured = levels_of(systems)
    if mismatches := compare_systems(systems):
        raise SpeechIQError(f"norms are built from equal terms: {summarize(mismatches)}; leave one of the two out")
    pool = align(systems)
    scale = calibrate(pool, rule)
    tasks = _tasks(systems)
    levels = {
        level: LevelNorms(
            metric=measured[level].column,
            mean=of.mean,
            std=of.std,
            spread=of.spread,
            weight=of.weight,
            tasks=tasks[level],
            clips=dict(zip(pool.clips[level], of.discrimination.tolist(), strict=True)),
            questions=_questions(systems[0].scores[level]),
        )
        for level, of in scale.levels.items()
    }
    return Norms(name, rule, list(pool.systems), systems[0].excluded, levels)


def _tasks(systems: Iterable[System]) -> dict[str, list[dict[str, Scalar]]]:
    """Every task once, whichever systems ran it."""
    tasks: dict[str, dict[tuple[tuple[str, Scalar], ...], dict[str, Scalar]]] = {level: {} for level in LEVELS}
    for system in systems:
        for level, conditions in by_level(system).items():
            tasks[level] |= {tuple(of.items()): dict(of) for of in conditions}
    return {level: [of[key] for key in sorted(of, key=repr)] for level, of in tasks.items()}


def _questions(items: Iterable[Item]) -> dict[str, list[str]]:
    questions: dict[str, list[str]] = {}
    for clip, *question in sorted(items):
        for name in question:
            questions.setdefault(clip, []).append(name)
    return questions
