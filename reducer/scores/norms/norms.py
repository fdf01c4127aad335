"""Build norms from a pool of systems: its scale, and all that the scale depends on."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import add_checksum, content_sha256, shorten
from speechiq.core.ids import PLAIN
from speechiq.reducer.runs.conditions import Scalar, by_level, compare_systems, summarize
from speechiq.reducer.runs.rows import Item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.scale import DEFAULT_RULE, LevelScale, Scale, calibrate
from speechiq.reducer.scores.score_matrix import align, levels_of

SCHEMA = "speechiq-norms"
VERSION = 1
#: Systems below which a frozen population is an example: each system moves the scale a lot.
FEWEST_FROZEN = 10
EDITION = re.compile("[1-9][0-9]{0,5}")


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold one system of the population.

    Attributes:
        date: Day of its newest run, UTC; None if it was not recorded.
        sha256: Digest of its raw scores, level -> item -> score; None if it was not recorded.
    """

    system: str
    date: str | None
    sha256: str | None


class LevelNorms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold one level of the norms.

    Attributes:
        metric: The column of a sample row that has the score.
        mean, std, spread, weight: As in `scale.LevelScale`.
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
        edition: Number from 1 of frozen norms (`freeze`); None for a draft.
        example: Whether the population is too small for a reference and only shows how norms work.
        date: Day on which they were frozen, UTC; None for a draft.
        rule: Rule of the level weights, as for `scale.share_out`.
        population: The systems, sorted by name.
        excluded: The sha256 of the unanswerable set whose questions were left out of Apply; None without one.
        levels: Level -> its norms, in the order of `LEVELS`.
    """

    name: str
    edition: int | None
    example: bool
    date: str | None
    rule: str
    population: list[Member]
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
    def systems(self) -> list[str]:
        """Return the names of the population's systems, sorted."""
        return [member.system for member in self.population]

    @property
    def label(self) -> str:
        """Return the name, with the edition of frozen norms: `demo@1`."""
        return self.name if self.edition is None else f"{self.name}@{self.edition}"

    @property
    def title(self) -> str:
        """Return label and short hash, for tables; says of an example that it is one."""
        return f"{self.label} ({'example, ' * self.example}{shorten(self.sha256)})"

    @property
    def items(self) -> dict[str, set[Item]]:
        """Return level -> the items that a system must have answered."""
        return {level: level_norms.items for level, level_norms in self.levels.items()}

    @property
    def scale(self) -> Scale:
        """Return the scale for all clips of the norms."""
        return self.scale_of({level: sorted(level_norms.clips) for level, level_norms in self.levels.items()})

    def scale_of(self, clips: Mapping[str, Iterable[str]]) -> Scale:
        """Return the scale for some of the norms' clips: level -> clips, in the order of the pool to score."""
        levels = {}
        for level, names in clips.items():
            stored = self.levels[level]
            weights = np.array([stored.clips[clip] for clip in names])
            if not weights.any():
                raise SpeechIQError(
                    f"level {level}",
                    f"none of the {len(weights)} clips shared with norms {self.label!r} separates systems",
                    "run all clips of the norms",
                )
            levels[level] = LevelScale(weights, stored.mean, stored.std, stored.weight, stored.spread)
        return Scale(self.rule, levels)


def build(systems: Iterable[System], name: str, rule: str = DEFAULT_RULE) -> Norms:
    """Build norms from a pool of systems, with a rule of level weights as for `scale.share_out`."""
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
    population = sorted(map(_describe_member, systems), key=lambda member: member.system)
    return Norms(name, None, False, None, rule, population, systems[0].excluded, levels)


def freeze(norms: Norms, label: str, *, example: bool = False) -> Norms:
    """Return norms with a name and an edition, which no later norms may have.

    Args:
        label: Name and edition, `NAME@NUMBER`.
        example: Whether the norms are only an example; else they need `FEWEST_FROZEN` systems.
    """
    name, _, edition = label.rpartition("@")
    if not (PLAIN.fullmatch(name) and EDITION.fullmatch(edition)):
        raise SpeechIQError(
            f"norms {label!r}", "not a name with an edition", "name the file NAME@1.json; the next one is NAME@2.json"
        )
    if norms.edition is not None:
        raise SpeechIQError(
            f"norms {norms.label!r}", "they are frozen", "save new norms with `siq score --save-norms`, and freeze them"
        )
    if len(norms.population) < FEWEST_FROZEN and not example:
        raise SpeechIQError(
            f"norms {norms.name!r}",
            f"a population of {len(norms.population)} systems, fewer than {FEWEST_FROZEN}",
            "add systems, or say with --example that they are an example",
        )
    today = datetime.now(UTC).date().isoformat()
    return msgspec.structs.replace(norms, name=name, edition=int(edition), example=example, date=today)


def _describe_member(system: System) -> Member:
    dates = [datetime.fromtimestamp(task.date, UTC).date().isoformat() for task in system.tasks]
    scores = {
        level: {json.dumps(item): items[item] for item in sorted(items)} for level, items in system.scores.items()
    }
    return Member(system.name, max(dates, default=None), content_sha256(scores))


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
