"""Read the metadata of a run: the keys that its tasks read, and those that apply to one data set."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, read_plain
from speechiq.core.files.yaml_text import load_yaml
from speechiq.core.suggestions import find_nearest
from speechiq.metrics.settings import Subject
from speechiq.siq_tasks.conditions.variants import LISTEN, TIMED_TASKS, TIMING, RunSettings
from speechiq.siq_tasks.task_types import TASK_TYPES

Loader = TypeVar("Loader", bound=Callable[..., Any])
#: The keys that every task reads; see `siq_tasks/conditions/`.
COMMON = Subject(RunSettings).keys | {LISTEN}
#: Key that names a YAML file: data set -> key -> value.
FILE = "sets"
#: How similar an unknown key must be to a known one to count as a typing error (`difflib` ratio).
SIMILAR = 0.8
#: Loader -> keys that it reads, declared with `takes`.
DECLARED: dict[Callable[..., Any], frozenset[str]] = {}
#: The user's metadata during a run, without the model arguments and the YAML's own keys, which lm-eval adds.
user_metadata: ContextVar[Mapping[str, Any] | None] = ContextVar("user_metadata", default=None)


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
    """Return the keys that a task reads, and each as `DATASET.KEY`; None if its loader declares none."""
    declared = DECLARED.get(loader) if callable(loader) else None
    if declared is None:
        return None
    known = isinstance(task_type, str) and task_type in TASK_TYPES
    keys = declared | COMMON | (TASK_TYPES[task_type].keys if known else frozenset())
    if known and TASK_TYPES[task_type].asks_question:
        keys |= {TIMING}
    return keys if dataset is None else keys | {f"{dataset}.{key}" for key in keys}


def refuse_unread(known: Sequence[frozenset[str] | None], others: bool) -> None:
    """Refuse given keys that no task of the run reads, and name the nearest known one.

    `known` are keys from `keys_of` for each of the suite's tasks; `others`, of other suites, may read other keys.
    """
    declared = [keys for keys in known if keys is not None]
    if known and not others and len(declared) == len(known):
        refuse(user_metadata.get() or {}, frozenset[str]().union(*declared))


def refuse(metadata: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse the first key of `metadata` that is not among the known ones.

    >>> refuse({"embeder": "demo:x"}, ["embedder", "subset"])
    Traceback (most recent call last):
    ...
    speechiq.core.errors.SpeechIQError: --metadata embeder=demo:x: no task of this run reads it; did you mean embedder?
    """
    for key in sorted(key for key in metadata if not any(fnmatchcase(key, name) for name in known)):
        if key == TIMING:
            raise SpeechIQError(f"--metadata {key}={metadata[key]}", "no task of this run can be timed", TIMED_TASKS)
        every = set(known).union(*(task_type.keys for task_type in TASK_TYPES.values()))
        near = None if key in every else find_nearest(key, every, SIMILAR)
        names = ", ".join(sorted(name for name in known if "." not in name)) or "none"
        fix = f"did you mean {near}?" if near else f"leave it out (known: {names})"
        raise SpeechIQError(f"--metadata {key}={metadata[key]}", "no task of this run reads it", fix)


def expand_sets(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with `DATASET.KEY` for each key of the file that `sets` names; given keys precede the file's."""
    if FILE not in metadata:
        return dict(metadata)
    name = metadata[FILE]
    option, form = f"--metadata {FILE}={name}", "write lines such as `earnings22: {dataset_path: FOLDER}`"
    try:
        content = load_yaml(read_plain(expand(str(name))))
    except OSError as error:
        raise SpeechIQError(option, f"cannot be read ({error.strerror})", "correct the path") from error
    except ValueError as error:
        raise SpeechIQError(option, f"not valid YAML ({' '.join(str(error).split())[:200]})", form) from error
    if not isinstance(content, dict) or not all(isinstance(keys, dict) for keys in content.values()):
        raise SpeechIQError(option, "not a mapping of data sets to keys and values", form)
    listed = {f"{dataset}.{key}": value for dataset, keys in content.items() for key, value in keys.items()}
    return listed | {key: value for key, value in metadata.items() if key != FILE}


def for_dataset(metadata: Mapping[str, Any], dataset: Any) -> dict[str, Any]:
    """Return the metadata that apply to one data set: `DATASET.KEY` applies to that set alone, and precedes `KEY`.

    >>> for_dataset({"subset": 9, "medasr.subset": 2, "voxpopuli.subset": 1}, "medasr")
    {'subset': 2}
    """
    prefix = f"{dataset}."
    own = {key.removeprefix(prefix): value for key, value in metadata.items() if key.startswith(prefix)}
    return {key: value for key, value in metadata.items() if "." not in key} | own
