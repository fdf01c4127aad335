"""Declare the keys of `--metadata` that the suite's tasks read, per task type and per loader."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import find_nearest
from speechiq.siq_tasks.task_types import TASK_TYPES

Loader = TypeVar("Loader", bound=Callable[..., Any])
#: The key that every task reads; see `siq_tasks/conditions/`.
CONDITION = "condition"
#: How similar an unknown key must be to a known one to count as a typing error (`difflib` ratio).
SIMILAR = 0.8


class Given(NamedTuple):
    """Hold the metadata that the user gave to a run.

    Attributes:
        metadata: The user's keys, without the model arguments and the YAML's own keys, which lm-eval adds.
        suite_alone: Whether the names of all tasks of the run begin like those of the suite.
    """

    metadata: Mapping[str, Any]
    suite_alone: bool


#: Loader -> keys that it reads, declared with `takes`.
DECLARED: dict[Callable[..., Any], frozenset[str]] = {}
NOTHING = Given(MappingProxyType({}), suite_alone=False)
#: Set during a run; a task checks it before it loads its data.
given: ContextVar[Given] = ContextVar("given", default=NOTHING)


def takes(*keys: str) -> Callable[[Loader], Loader]:
    """Declare the keys that a loader (`custom_dataset` of a YAML) reads, in addition to those of its task's type.

    >>> @takes("snr")
    ... def load(snr, **others): ...
    >>> DECLARED[load]
    frozenset({'snr'})
    """

    def declare(loader: Loader) -> Loader:
        DECLARED[loader] = frozenset(keys)
        return loader

    return declare


def keys_of(loader: Any, task_type: Any, dataset: Any = None) -> frozenset[str] | None:
    """Return the keys that a task reads, or None if its loader does not declare any.

    With the name of a data set, `DATASET.KEY` is among them.

    Args:
        loader: `custom_dataset` of the task; a value that is not a function declares no keys.
        task_type: Type of the task; an unknown one adds no keys.
        dataset: Data set in the task's metadata.
    """
    declared = DECLARED.get(loader) if callable(loader) else None
    if declared is None:
        return None
    keys = (
        declared
        | {CONDITION}
        | (TASK_TYPES[task_type].keys if isinstance(task_type, str) and task_type in TASK_TYPES else frozenset())
    )
    return keys if dataset is None else keys | {f"{dataset}.{key}" for key in keys}


def refuse_unknown(known: frozenset[str] | None) -> None:
    """Refuse an unknown key that is similar to a key of this task, before the task loads its data.

    Args:
        known: Keys of the task, from `keys_of`.

    Raises:
        SpeechIQError: A key is similar to a known one, which the message names.
    """
    run = given.get()
    if run.suite_alone and known is not None:
        known = known.union(*(task_type.keys for task_type in TASK_TYPES.values()))
        of_all = {key: value for key, value in run.metadata.items() if "." not in key}
        refuse({key: value for key, value in of_all.items() if find_nearest(key, known, SIMILAR)}, known)


def refuse_unread(known: Sequence[frozenset[str] | None], others: bool) -> None:
    """Refuse given keys that no task of the run reads.

    Args:
        known: Keys from `keys_of`, for each of the suite's tasks in this run.
        others: Whether the run has tasks of other suites too, which may read other keys.

    Raises:
        SpeechIQError: No task reads a key; the message names the nearest known one.
    """
    declared = [keys for keys in known if keys is not None]
    if known and not others and len(declared) == len(known):
        refuse(given.get().metadata, frozenset[str]().union(*declared))


def refuse(metadata: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse the first key of `metadata` that is not among the known ones.

    Raises:
        SpeechIQError: A key is unknown; the message names the nearest known one, or all of them.

    >>> refuse({"embeder": "demo:x"}, ["embedder", "subset"])
    Traceback (most recent call last):
    ...
    speechiq.core.errors.SpeechIQError: --metadata embeder=demo:x: no task of this run reads it; did you mean embedder?
    """
    for key in sorted(key for key in metadata if not any(fnmatchcase(key, name) for name in known)):
        near = find_nearest(key, known, SIMILAR)
        names = ", ".join(sorted(name for name in known if "." not in name)) or "none"
        fix = f"did you mean {near}?" if near else f"leave it out (known: {names})"
        raise SpeechIQError(f"--metadata {key}={metadata[key]}: no task of this run reads it; {fix}")
