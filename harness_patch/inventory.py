"""Describe the work of a run before it starts: tasks, clips, hours of audio, and what the response cache has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from speechiq.core.cache.stage_count import StageCount

#: Docs to run: task -> their positions in the task.
Samples = dict[str, list[int]]


class TaskWork(Struct, frozen=True):
    """Count the docs of one task that are run, the different clips among them, and their seconds of audio.

    Attributes:
        suite: Name of its suite; empty for a task of another package, whose clips are not counted.
        category: Its column in the suite's table, for SIQ the level; empty without a suite.
    """

    task: str
    docs: int
    clips: int
    seconds: float
    suite: str = ""
    category: str = ""


class SystemWork(Struct, frozen=True):
    """State what the response cache has of one system.

    Attributes:
        system: Spec and options, as the user wrote them.
        name: Its name in results.
        stages: The stages up to the one with missing rows, on which later ones depend.
        complete: Whether no row is missing.
    """

    system: str
    name: str
    stages: list[StageCount]
    complete: bool


class Inventory(Struct, frozen=True):
    """Describe the work of a run: its tasks and systems in their order, the different clips and their seconds of audio.

    `samples` are the docs of the tasks that are not run whole.
    """

    tasks: list[TaskWork]
    systems: list[SystemWork]
    clips: int
    seconds: float
    samples: Samples


def list_work(
    docs: Mapping[str, Sequence[Mapping[str, Any]]],
    about: Mapping[str, Mapping[str, Any]],
    systems: Sequence[SystemWork],
    samples: Samples,
) -> Inventory:
    """Return the inventory of a run.

    Args:
        docs: Task -> its docs; those of other packages may have any form.
        about: Task -> its metadata.
        systems: What the cache has of each system.
        samples: The docs to run; all docs of a task that is not named.
    """
    clips = {task: _clips_of(_choose(of, samples.get(task))) for task, of in docs.items()}
    tasks = [
        TaskWork(
            task,
            len(samples.get(task, of)),
            len(clips[task]),
            sum(clips[task].values()),
            *(str(about[task].get(key, "")) for key in ("suite", "category")),
        )
        for task, of in docs.items()
    ]
    every = {key: seconds for of in clips.values() for key, seconds in of.items()}
    return Inventory(tasks, list(systems), len(every), sum(every.values()), samples)


def choose_clips(docs: Mapping[str, Sequence[Mapping[str, Any]]], limit: int | None) -> Samples:
    """Return the docs about the first `limit` clips of each data set, so that all its tasks run the same clips.

    Tasks of one data set that have no clip in common take the first of their own. A doc without a clip counts as one.

    >>> a, b = ({"dataset": "x", "id": f"x/{name}"} for name in "ab")
    >>> choose_clips({"remember": [a, b], "apply": [a, a, b]}, 1)
    {'remember': [0], 'apply': [0, 1]}
    """
    if limit is None:
        return {}
    first: dict[Any, dict[Any, None]] = {}
    samples: Samples = {}
    for task, of in docs.items():
        names = [doc.get("id", i) for i, doc in enumerate(of)]
        own = dict.fromkeys(list(dict.fromkeys(names))[:limit])
        chosen = first.setdefault(of[0].get("dataset", task), own) if names else own
        wanted = chosen if chosen.keys() & set(names) else own
        positions = [i for i, name in enumerate(names) if name in wanted]
        if len(positions) < len(names):
            samples[task] = positions
    return samples


def _choose(docs: Sequence[Mapping[str, Any]], positions: list[int] | None) -> Sequence[Mapping[str, Any]]:
    return docs if positions is None else [docs[i] for i in positions]


def _clips_of(docs: Sequence[Mapping[str, Any]]) -> dict[tuple[Any, Any], float]:
    """Return the different clips of docs -> their seconds."""
    clips = [doc["audio"] for doc in docs if isinstance(doc.get("audio"), Mapping) and "sha256" in doc["audio"]]
    return {(clip["sha256"], clip.get("offset")): float(clip["duration"]) for clip in clips}
