"""Build norms from a pool of systems: its scale, and all that the scale depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import add_checksum, shorten
from speechiq.reducer.runs.conditions import Scalar, by_level, compare_systems, summarize
from speechiq.reducer.runs.rows import Item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.scale import DEFAULT_RULE, LevelScale, Scale, calibrate
from speechiq.reducer.scores.score_matrix import align, levels_of

SCHEMA = "speechiq-norms"
VERSION = 1


class LevelNorms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold one level of the norms.

    Attributes:
        metric: The column of a sample row that has the score.
        mean: Mean of X_j over the pool's systems (eq. 5).
        std: Standard deviation of X_j over the pool's systems, above 0.
        spread: Standard deviation of all raw scores of the pool's systems, which eq. 6 divides by, above 0.
        weight: The level's share of the SIQ (eq. 6); the shares sum to 1.
        tasks: The conditions of each of the level's tasks (`conditions.read_conditions`).
        clips: Clip -> V_i of eq. 3, sorted by clip.
        questions: Clip -> ids of its questions, sorted; empty at a level without questions.
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
        """Return the items that a system must have answered."""
        if not self.questions:
            return {(clip,) for clip in self.clips}
        return {(clip, question) for clip, questions in self.questions.items() for question in questions}


class Norms(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Hold a pool of systems that is stored as a scale.

    Attributes:
        name: Name of the norms.
        rule: Rule of the level weights, as for `scale.share_out`.
        systems: Names of the pool's systems, sorted.
        excluded: The sha256 of the unanswerable set whose questions were left out of Apply; None without one.
        levels: Level -> its norms, in the order of `LEVELS`.
    """

    name: str
    rule: str
    systems: list[str]
    excluded: str | None
    levels: dict[str, LevelNorms]

    @cached_property
    def content(self) -> dict[str, Any]:
        """Return the content of the file of the norms, with its checksum."""
        return add_checksum(SCHEMA, VERSION, msgspec.to_builtins(self))

    @property
    def sha256(self) -> str:
        """Return the sha256 of the content of the file."""
        return str(self.content["sha256"])

    @property
    def title(self) -> str:
        """Return name and short hash, for tables."""
        return f"{self.name} ({shorten(self.sha256)})"

    @property
    def items(self) -> dict[str, set[Item]]:
        """Return level -> the items that a system must have answered."""
        return {level: level_norms.items for level, level_norms in self.levels.items()}

    @property
    def scale(self) -> Scale:
        """Return the scale for all clips of the norms."""
        return self.scale_of({level: sorted(level_norms.clips) for level, level_norms in self.levels.items()})

    def scale_of(self, clips: Mapping[str, Iterable[str]]) -> Scale:
        """Return the scale for some of the norms' clips: level -> clips, in the order of the pool to score.

        Raises:
            SpeechIQError: On some level, no clip separates systems.
        """
        levels = {}
        for level, names in clips.items():
            stored = self.levels[level]
            weights = np.array([stored.clips[clip] for clip in names])
            if not weights.any():
                raise SpeechIQError(
                    f"level {level}",
                    f"none of the {len(weights)} clips shared with norms {self.name!r} separates systems",
                    "run all clips of the norms",
                )
            levels[level] = LevelScale(weights, stored.mean, stored.std, stored.weight, stored.spread)
        return Scale(self.rule, levels)


def build(systems: Iterable[System], name: str, rule: str = DEFAULT_RULE) -> Norms:
    """Build norms from a pool of systems, with a rule of level weights as for `scale.share_out`.

    Raises:
        SpeechIQError: A name that does not print, systems with different items or conditions, or a pool that sets no
            scale.
    """
    if not (name.strip() and name.isprintable()):
        raise SpeechIQError(f"norms need a printable name, not {name!r}", fix="give the file another name")
    systems = list(systems)
    measured = levels_of(systems)
    if mismatches := compare_systems(systems):
        raise SpeechIQError("norms need equal conditions", summarize(mismatches), "leave one of the two out")
    pool = align(systems)
    scale = calibrate(pool, rule)
    tasks = _tasks(systems)
    levels = {
        level: LevelNorms(
            metric=measured[level].column,
            mean=level_scale.mean,
            std=level_scale.std,
            spread=level_scale.spread,
            weight=level_scale.weight,
            tasks=tasks[level],
            clips=dict(zip(pool.clips[level], level_scale.discrimination.tolist(), strict=True)),
            questions=_questions(systems[0].scores[level]),
        )
        for level, level_scale in scale.levels.items()
    }
    return Norms(name, rule, list(pool.systems), systems[0].excluded, levels)


def _tasks(systems: Iterable[System]) -> dict[str, list[dict[str, Scalar]]]:
    """Return level -> the conditions of every task, once."""
    tasks: dict[str, dict[tuple[tuple[str, Scalar], ...], dict[str, Scalar]]] = {level: {} for level in LEVELS}
    for system in systems:
        for level, conditions in by_level(system).items():
            tasks[level] |= {tuple(task.items()): dict(task) for task in conditions}
    return {level: [conditions[key] for key in sorted(conditions, key=repr)] for level, conditions in tasks.items()}


def _questions(items: Iterable[Item]) -> dict[str, list[str]]:
    questions: dict[str, list[str]] = {}
    for clip, *question in sorted(items):
        for name in question:
            questions.setdefault(clip, []).append(name)
    return questions
