"""Read and write the YAML files of tasks, with their includes; a task is read without importing what it names."""

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_file
from speechiq.core.files.yaml_text import PlainLoader

#: The folder of the suite.
HERE = Path(__file__).parents[1]
TEMPLATES = HERE / "templates"
#: Maximum bytes of a task file, and maximum depth of includes.
LARGEST, DEEPEST = 1 << 20, 16
#: Keys of a template that lm-eval does not know; they become metadata of every task that includes it.
DESCRIPTION = (
    "suite", "category", "level", "task_type", "item", "measure", "settings", "order", "aggregate", "extra_columns",
    "prompt_version",
)  # fmt: skip
#: Key of the file `_set.yaml`: metadata that the tasks of a data set share.
SHARED = "set_metadata"
#: Beginning of a `dataset_path` inside the package.
PACKAGED = "package:"
#: Beginning of a `dataset_path` or of `questions` in the folder of the task file, and the keys that may have it.
IN_FOLDER, FOLDER_KEYS = "folder:", ("dataset_path", "questions")
#: What lm-eval writes in the place of the task file for a task that is a mapping.
INLINE = "inline"


class Function(str):
    """Hold the name after a `!function` tag."""


class _Loader(PlainLoader):
    pass


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _read_function(loader: _Loader, node: yaml.ScalarNode) -> Function:
    return Function(loader.construct_scalar(node))


_Loader.add_constructor("!function", _read_function)
_Dumper.add_representer(Function, lambda dumper, name: dumper.represent_scalar("!function", str(name)))


def read_task(file: Path) -> dict[str, Any]:
    """Return a task or template with its includes, and all metadata of both in `metadata`; refuse other files."""
    return join_metadata(_merge(file, ()))


def join_metadata(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task whose `metadata` has those of its set, its own, and the description in its template.

    Of equal keys the description wins, then the task's own. A task without any metadata stays as it is.

    >>> join_metadata({"task": "a", "item": ["id"], "set_metadata": {"split": "test"}, "metadata": {"split": "dev"}})
    {'task': 'a', 'metadata': {'split': 'dev', 'item': ['id']}}
    """
    parts = [task[key] for key in (SHARED, "metadata") if key in task]
    parts.append({key: task[key] for key in DESCRIPTION if key in task})
    rest = {key: value for key, value in task.items() if key not in (*DESCRIPTION, SHARED, "metadata")}
    if not all(isinstance(part, Mapping) for part in parts):
        return rest | {"metadata": next(part for part in parts if not isinstance(part, Mapping))}
    metadata: dict[str, Any] = {}
    for part in parts:
        metadata |= part
    return rest | ({"metadata": metadata} if metadata else {})


def resolve_folder(metadata: Mapping[str, Any], file: str | Path) -> dict[str, Any]:
    """Return metadata with the path in the task's folder for each `folder:NAME`; a task must come from a file.

    >>> resolve_folder({"dataset_path": "folder:clips.jsonl", "subset": "all"}, "/shared/calls/siq_calls.yaml")
    {'dataset_path': '/shared/calls/clips.jsonl', 'subset': 'all'}
    """
    resolved = dict(metadata)
    for key in FOLDER_KEYS:
        value = metadata.get(key)
        if not isinstance(value, str) or not value.startswith(IN_FOLDER):
            continue
        if str(file) == INLINE:
            raise SpeechIQError(f"metadata.{key}", f"{value} needs a task file, and this task has none", "give a path")
        resolved[key] = str(Path(os.path.realpath(Path(file).parent), value.removeprefix(IN_FOLDER)))
    return resolved


def _merge(file: Path, including: tuple[Path, ...]) -> dict[str, Any]:
    """Return the keys of a YAML and of its includes, like lm-eval: its own keys win, then those of later includes.

    `including` are the files that include it, outermost first.
    """
    if file in including or len(including) > DEEPEST:
        raise SpeechIQError(including[-1], f"include: {file.name} includes this file", "remove one include")
    task = read_mapping(file)
    included = task.pop("include", [])
    names = [included] if isinstance(included, str) else included
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SpeechIQError(
            file, f"include: {included!r:.80} is not the name of a file, or a list of names", "correct it"
        )
    merged: dict[str, Any] = {}
    for name in names:
        merged |= _merge(file.parent / name, (*including, file))
    return merged | task


def read_mapping(file: Path) -> dict[str, Any]:
    """Return the keys that a YAML has itself, without those of its includes."""
    if not is_file(file):
        raise SpeechIQError(file, "no such task file", "correct the include or restore the file")
    try:
        if file.stat().st_size > LARGEST:
            raise SpeechIQError(file, f"has more than {LARGEST} bytes", "make it smaller")
        task = _parse(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpeechIQError(file, f"cannot be read ({error.strerror})", "check its permissions") from error
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise SpeechIQError(
            file, f"not valid YAML ({str(error) or type(error).__name__:.200})", "correct it"
        ) from error
    if not isinstance(task, dict):
        raise SpeechIQError(file, f"contains {type(task).__name__}, not the keys of a task", "correct it")
    return dict(task)


@lru_cache(maxsize=64)
def _parse(text: str) -> Any:
    """Return the content of a YAML; templates are included by many files and parsed once."""
    return yaml.load(text, _Loader)


def write_task(file: Path, task: dict[str, Any]) -> None:
    """Write a task as a YAML without includes."""
    file.write_text(yaml.dump(task, Dumper=_Dumper, sort_keys=False, allow_unicode=True), encoding="utf-8")
