"""Compare the conditions that tasks recorded: scores are comparable only if these agree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from speechiq.core.checksummed import shorten
from speechiq.core.console import printable
from speechiq.reducer.read.results_file import TaskRun
from speechiq.reducer.read.runs import System
from speechiq.reducer.read.samples import show_item

Scalar = str | int | float | None
Conditions = Mapping[str, Scalar]

CLIPS = "clips"
TASKS = "task versions"
NORMALIZER = "normalizer"
EMBEDDER = "embedder"
#: What else a suite says its scores depend on.
SETTINGS = "settings"
ASPECTS = (CLIPS, TASKS, NORMALIZER, EMBEDDER)
FIELDS = {
    "content_sha256": CLIPS,
    "dataset": TASKS,
    "version": TASKS,
    "prompt_version": TASKS,
    "subset_sha256": TASKS,
    "normalizer": NORMALIZER,
    "normalizer_version": NORMALIZER,
    "embedder": EMBEDDER,
    "embedder_template": EMBEDDER,
    "embedder_text": EMBEDDER,
    "embedder_dtype": EMBEDDER,
}
#: Rules of runs that do not record theirs: those of the package whisper-normalizer, which speechiq used first.
FIRST_RULES = "whisper-normalizer"
UNTOLD = {"content_sha256": "not told (older runs do not: run them again)"}
EXAMPLES = 3


class Mismatch(NamedTuple):
    """One thing in which a system's run differs from what it is compared with.

    Attributes:
        system: The system's name.
        level: Name of the category.
        aspect: One of `ASPECTS`.
        text: What differs, naming both sides.
        fix: What the user can do.
    """

    system: str
    level: str
    aspect: str
    text: str
    fix: str = "run the same tasks"


def read_conditions(task: TaskRun) -> dict[str, Scalar]:
    """A task's name and the fields that its scores depend on; None where the task does not tell.

    >>> from speechiq.reducer.siq.levels import LEVELS
    >>> of = LEVELS["understand"]
    >>> task = TaskRun(0.0, "", "s", "t", of, {"version": 1, "dataset": "demo", "embedder": "e"}, {})
    >>> [f"{field}={value}" for field, value in read_conditions(task).items() if value is not None][3:]
    ['embedder=e', 'embedder_template=plain', 'embedder_text=raw', 'embedder_dtype=float32']
    """
    settings = task.category.settings
    told = {field: None for field, aspect in FIELDS.items() if aspect in (CLIPS, TASKS)} | {**settings}
    told |= {field: _as_scalar(task.metadata[field]) for field in told if field in task.metadata}
    return {"task": printable(task.task), **told}


def by_level(system: System) -> dict[str, list[Conditions]]:
    """level -> the conditions of each of the system's tasks, sorted; empty where its tasks are not known."""
    return {
        level: sorted(
            (read_conditions(task) for task in system.tasks if task.level == level),
            key=lambda of: json.dumps(of, sort_keys=True),
        )
        for level in system.levels
    }


def compare_systems(systems: Sequence[System]) -> list[Mismatch]:
    """In what systems differ from what most of them were asked at a level; of equal shares, from the first by name.

    Systems whose tasks are not known differ from none.
    """
    conditions = {system.name: by_level(system) for system in sorted(systems, key=lambda system: system.name)}
    found = []
    for level in _levels_of(systems):
        told = {name: _by_dataset(of[level]) for name, of in conditions.items() if of.get(level)}
        if told:
            usual = _usual(told)
            other, theirs = f"system {usual!r}", conditions[usual][level]
            for name in told:
                found += compare(name, level, conditions[name][level], other, theirs)
    return found


def compare_items(systems: Sequence[System]) -> list[Mismatch]:
    """Which clips or questions of others systems lack."""
    found = []
    for level in _levels_of(systems):
        everything = set().union(*(system.scores.get(level, ()) for system in systems))
        for system in systems:
            if lacking := everything.difference(system.scores.get(level, ())):
                text = f"lacks {len(lacking)} of {len(everything)} items, such as {show_item(min(lacking))}"
                found.append(Mismatch(system.name, level, CLIPS, f"level {level}: system {system.name!r} {text}"))
    return found


def compare(
    system: str, level: str, ours: Iterable[Conditions], other: str, theirs: Iterable[Conditions]
) -> list[Mismatch]:
    """In what one level's tasks of a system differ from those of another.

    Tasks are told apart by their data set, never by their names.

    Args:
        system: The system's name.
        level: Name of the category.
        ours: Conditions of its tasks; none where they are not known, which differs from nothing.
        other: What it is compared with, in words.
        theirs: The other's conditions.
    """
    here, there = _by_dataset(ours), _by_dataset(theirs)
    if not here or not there:
        return []
    me = f"system {system!r}"
    alone = [(dataset, me, other) for dataset in here.keys() - there.keys()]
    alone += [(dataset, other, me) for dataset in there.keys() - here.keys()]
    found = [
        Mismatch(system, level, TASKS, f"level {level}: data set {dataset!r} is in {having} and not in {lacking}")
        for dataset, having, lacking in sorted(alone)
    ]
    return found + [
        Mismatch(
            system,
            level,
            aspect,
            f"level {level}, data set {dataset!r}: {field} is {_show(field, here[dataset][field])} in {me} "
            f"and {_show(field, there[dataset][field])} in {other}",
        )
        for dataset in sorted(here.keys() & there.keys())
        for field, aspect in _aspects(here[dataset].keys() | there[dataset].keys()).items()
        if here[dataset].get(field) != there[dataset].get(field)
    ]


def summarise(mismatches: Sequence[Mismatch]) -> str:
    """The first few, in one line."""
    more = len(mismatches) - EXAMPLES
    return "; ".join(of.text for of in mismatches[:EXAMPLES]) + (f"; and {more} more" if more > 0 else "")


def _levels_of(systems: Iterable[System]) -> list[str]:
    """Return every category of some systems, once."""
    return list(dict.fromkeys(level for system in systems for level in system.levels))


def _aspects(fields: Iterable[str]) -> dict[str, str]:
    """Return field -> aspect, for the known fields and further ones."""
    return FIELDS | dict.fromkeys(sorted({*fields} - FIELDS.keys()), SETTINGS)


def _usual(told: Mapping[str, Any]) -> str:
    """Whose value most share; of equal shares, the first."""
    return max(told, key=lambda name: sum(told[name] == of for of in told.values()))


def _by_dataset(tasks: Iterable[Conditions]) -> dict[str, dict[str, set[Scalar]]]:
    """Return data set -> field -> values, of all its tasks together."""
    sets: dict[str, dict[str, set[Scalar]]] = {}
    for task in tasks:
        if "normalizer" in task:
            task = {"normalizer_version": FIRST_RULES, **task}
        fields = sets.setdefault(str(task["dataset"]), {})
        for field in task.keys() - {"task"}:
            fields.setdefault(field, set()).add(task[field])
    return sets


def _show(field: str, values: set[Scalar]) -> str:
    untold = UNTOLD.get(field, "not told")
    shown = (shorten(str(value)) if field.endswith("sha256") else value for value in values if value is not None)
    return " and ".join(sorted([*map(repr, shown), *[untold] * (None in values)]))


def _as_scalar(value: Any) -> Scalar:
    return value if isinstance(value, str | int | float | None) else json.dumps(value, sort_keys=True)
