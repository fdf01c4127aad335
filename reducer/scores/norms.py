"""Store a pool of systems as a scale for other systems, so that adding a system changes no other score.

Norms are the pool's scale and all that the scale depends on. The schema of the file is in docs/concepts/norms.md.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import add_checksum, content_sha256, read_checksummed, shorten
from speechiq.core.files.plain import OWN_FILE, exists, write_whole
from speechiq.core.ids import PLAIN
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.conditions import Scalar, by_level, compare_systems, summarize
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.table import Item
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.scale import (
    CLIP_RULES,
    CORRELATION,
    NEGLIGIBLE,
    PAPER,
    VARIANCE,
    LevelScale,
    Scale,
    Weighting,
    calibrate,
)
from speechiq.reducer.scores.score_matrix import align, levels_of

SCHEMA = "speechiq-norms"
VERSION = 1
#: Systems below which a frozen population is an example: each system moves the scale a lot.
FEWEST_FROZEN = 10
EDITION = re.compile("[1-9][0-9]{0,5}")
SHIPPED = {path.stem: path for path in sorted(Path(__file__).parent.glob("*@*.json"))}
#: Limits of the numbers in norms: squares of scores are the largest; eq. 5 divides by nothing below the smallest.
LARGEST, SMALLEST = max(abs(end) for category in LEVELS.values() for end in category.measure.bounds) ** 2, 1e-30
ADVICE_NORMS = "make norms with `siq score --save-norms`"


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold one system of the population.

    Attributes:
        date: Day of its newest run, UTC; None if it was not recorded.
        sha256: Digest of its raw scores, level -> item -> score; None if it was not recorded.
    """

    system: str
    date: str | None
    sha256: str | None


class LevelNorms(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Hold one level of the norms.

    Attributes:
        metric: The column of a sample row that has the score.
        mean, std, spread, weight: As in `scale.LevelScale`.
        tasks: The conditions of each of the level's tasks (`conditions.read_conditions`).
        clips: Clip -> V_i of eq. 3, or its other weight, sorted by clip.
        questions: Clip -> ids of its questions, sorted; empty at a level without questions.
        agreement: As in `scale.LevelScale`, for level weights by correlation; None for other rules.
    """

    metric: str
    mean: float
    std: float
    spread: float
    weight: float
    tasks: list[dict[str, Scalar]]
    clips: dict[str, float]
    questions: dict[str, list[str]]
    agreement: float | None = None

    @property
    def items(self) -> set[Item]:
        """Return the items that a system must have answered."""
        if not self.questions:
            return {(clip,) for clip in self.clips}
        return {(clip, question) for clip, questions in self.questions.items() for question in questions}


class Norms(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, dict=True):
    """Hold a pool of systems that is stored as a scale.

    Attributes:
        edition: Number from 1 of frozen norms (`freeze_norms`); None for a draft.
        example: Whether the population is too small for a reference and only shows how norms work.
        date: Day on which they were frozen, UTC; None for a draft.
        rule: Rule of the level weights, as for `scale.share_out`.
        population: The systems, sorted by name.
        excluded: The sha256 of the unanswerable set whose questions were left out of Apply; None without one.
        levels: Level -> its norms, in the order of `LEVELS`.
        clip_weights: Rule of the clip weights, a key of `scale.CLIP_RULES`.
    """

    name: str
    edition: int | None
    example: bool
    date: str | None
    rule: str
    population: list[Member]
    excluded: str | None
    levels: dict[str, LevelNorms]
    clip_weights: str = VARIANCE

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
        example = "example, " if self.example else ""
        return f"{self.label} ({example}{shorten(self.sha256)})"

    @property
    def items(self) -> dict[str, set[Item]]:
        """Return level -> the items that a system must have answered."""
        return {level: level_norms.items for level, level_norms in self.levels.items()}

    @property
    def weighting(self) -> Weighting:
        """Return the rules of the weights."""
        return Weighting(self.rule, self.clip_weights)

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
            agreement = math.nan if stored.agreement is None else stored.agreement
            levels[level] = LevelScale(weights, stored.mean, stored.std, stored.weight, stored.spread, agreement)
        return Scale(self.weighting, levels)


def build_norms(systems: Iterable[System], name: str, rule: Weighting = PAPER) -> Norms:
    """Build norms from a pool of systems, with the rules of their weights."""
    if not (name.strip() and name.isprintable()):
        raise SpeechIQError(f"norms need a printable name, not {name!r}", fix="give the file another name")
    systems = list(systems)
    measured = levels_of(systems)
    if mismatches := compare_systems(systems):
        raise SpeechIQError("norms need equal conditions", summarize(mismatches), "leave one of the two out")
    pool = align(systems)
    scale = calibrate(pool, rule)
    tasks = _list_conditions(systems)
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
            agreement=level_scale.agreement if rule.levels == CORRELATION else None,
        )
        for level, level_scale in scale.levels.items()
    }
    population = sorted(map(_describe_member, systems), key=lambda member: member.system)
    return Norms(name, None, False, None, rule.levels, population, systems[0].excluded, levels, rule.clips)


def choose_weighting(norms: Norms, given: Mapping[str, str | None]) -> Weighting:
    """Return the rules of norms; refuse others that a user gave, the name of its option -> its value or None."""
    for (option, rule), own in zip(given.items(), norms.weighting, strict=True):
        if rule is not None and rule != own:
            raise SpeechIQError(
                f"{option} {rule} and norms {norms.name!r}",
                f"these norms were built with {own}",
                f"leave {option} out, or build norms with it",
            )
    return norms.weighting


def freeze_norms(norms: Norms, label: str, *, example: bool = False) -> Norms:
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
    scores = {}
    for level, items in system.scores.items():
        scores[level] = {json.dumps(item): items[item] for item in sorted(items)}
    return Member(system.name, max(dates, default=None), content_sha256(scores))


def _list_conditions(systems: Iterable[System]) -> dict[str, list[dict[str, Scalar]]]:
    """Return level -> the conditions of every task, once."""
    tasks: dict[str, dict[tuple[tuple[str, Scalar], ...], dict[str, Scalar]]] = {level: {} for level in LEVELS}
    for system in systems:
        for level, conditions in by_level(system).items():
            tasks[level] |= {tuple(task.items()): dict(task) for task in conditions}
    described = {}
    for level, by_items in tasks.items():
        described[level] = [by_items[key] for key in sorted(by_items, key=repr)]
    return described


def _questions(items: Iterable[Item]) -> dict[str, list[str]]:
    questions: dict[str, list[str]] = {}
    for clip, *question in sorted(items):
        for name in question:
            questions.setdefault(clip, []).append(name)
    return questions


def write_norms(norms: Norms, path: Path) -> None:
    """Write norms to a file, completely or not at all."""
    text = json.dumps(norms.content, indent=1, allow_nan=False) + "\n"
    write_whole(path, text.encode(), OWN_FILE)


def read_norms(place: str | Path) -> Norms:
    """Read norms from a file, or those that come with the package by their name (`SHIPPED`)."""
    path = _find_shipped(str(place)) or Path(place)
    if not exists(path):
        raise SpeechIQError(
            f"no norms {str(place)!r}",
            f"{did_you_mean(str(place), SHIPPED)}give a file of "
            f"`siq score --save-norms`, or the name of norms that come with speechiq ({', '.join(SHIPPED)})",
        )
    content = read_checksummed(path, SCHEMA, VERSION, ADVICE_NORMS)
    try:
        norms = msgspec.convert({key: content[key] for key in content if key not in ("schema", "version")}, Norms)
    except msgspec.ValidationError as error:
        raise SpeechIQError(path, f"has no valid norms ({error})", ADVICE_NORMS) from error
    if fault := _find_fault(norms, content_sha256(content)):
        raise SpeechIQError(path, f"has no valid norms ({fault})", ADVICE_NORMS)
    return norms


def _find_shipped(label: str) -> Path | None:
    """Return the file of norms of the package; without an edition, the newest."""
    editions = [shipped for shipped in SHIPPED if label in (shipped, shipped.rpartition("@")[0])]
    return SHIPPED[max(editions, key=lambda shipped: int(shipped.rpartition("@")[2]))] if editions else None


def _find_fault(norms: Norms, recorded: str) -> str | None:
    texts = (norms.name, norms.date or "", norms.rule, norms.excluded or "", *norms.systems)
    if not all(map(str.isprintable, texts)):
        return "it has a name that does not print"
    if norms.edition is not None and len(norms.population) < FEWEST_FROZEN and not norms.example:
        return f"frozen norms of fewer than {FEWEST_FROZEN} systems that are not an example"
    if list(norms.levels) != list(LEVELS):
        return f"its levels are {', '.join(norms.levels) or 'none'}, not {', '.join(LEVELS)}"
    for level, level_norms in norms.levels.items():
        columns, weights = LEVELS[level].measure.columns, level_norms.clips.values()
        if level_norms.metric not in columns:
            return f"{level} is scored by {level_norms.metric!r}, not by one of {', '.join(columns)}"
        deviations = level_norms.std, level_norms.spread
        agreement = level_norms.agreement or 0.0
        numbers = (level_norms.mean, *deviations, level_norms.weight, agreement, *weights)
        if not all(abs(number) <= LARGEST for number in numbers):
            return f"{level} has a number that is not finite or above {LARGEST:g}"
        if not (min(deviations) > SMALLEST and level_norms.weight >= 0 and any(weights) and min(weights) >= 0):
            return f"{level} has a std or weights that are not possible"
        questions = level_norms.questions
        if bool(questions) != (len(LEVELS[level].item) > 1) or questions.keys() - level_norms.clips.keys():
            return f"the questions of {level} do not fit its clips"
    if norms.clip_weights not in CLIP_RULES:
        return f"its clip weights are {norms.clip_weights!r:.40}, not {' or '.join(CLIP_RULES)}"
    try:
        expected = norms.scale.share_out(norms.rule)
    except SpeechIQError as error:
        return str(error)
    given = {level: level_norms.weight for level, level_norms in norms.levels.items()}
    if not all(math.isclose(given[level], expected[level], abs_tol=NEGLIGIBLE) for level in given):
        return "the level weights do not follow from its rule and spreads"
    if content_sha256({key: norms.content[key] for key in norms.content if key != "sha256"}) != recorded:
        return "its numbers are not in the form that speechiq writes"
    return None
