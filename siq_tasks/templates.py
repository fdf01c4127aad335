"""Read and write task YAMLs without importing the functions that they name."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from speechiq.core.errors import SpeechIQError
from speechiq.core.files import is_file

#: Maximum bytes of a task file, and maximum depth of includes.
LARGEST, DEEPEST = 1 << 20, 16


class Function(str):
    """Hold the name after a `!function` tag."""


class _Loader(yaml.SafeLoader):
    pass


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _read_function(loader: _Loader, node: yaml.ScalarNode) -> Function:
    return Function(loader.construct_scalar(node))


_Loader.add_constructor("!function", _read_function)
_Dumper.add_representer(Function, lambda dumper, name: dumper.represent_scalar("!function", str(name)))


def read_task(file: Path, including: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Return a task or group merged with its includes like in lm-eval: its own keys win.

    Args:
        file: YAML file.
        including: Files that include it, outermost first.

    Raises:
        SpeechIQError: The file cannot be read, is not valid YAML or not a mapping, or files include each other.
    """
    if file in including or len(including) > DEEPEST:
        raise SpeechIQError(f"{including[-1]}: include: {file.name} includes this file; remove one include")
    task = _read_mapping(file)
    included = task.pop("include", None)
    if included is None:
        return task
    if not isinstance(included, str):
        raise SpeechIQError(f"{file}: include: {included!r:.80} is not the name of a file; correct it")
    return read_task(file.parent / included, (*including, file)) | task


def _read_mapping(file: Path) -> dict[str, Any]:
    if not is_file(file):
        raise SpeechIQError(f"{file}: no such task file; correct the include or restore the file")
    try:
        if file.stat().st_size > LARGEST:
            raise SpeechIQError(f"{file}: has more than {LARGEST} bytes; make it smaller")
        task = _parse(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpeechIQError(f"{file}: cannot be read ({error.strerror}); check its permissions") from error
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise SpeechIQError(
            f"{file}: not valid YAML ({str(error) or type(error).__name__:.200}); correct it"
        ) from error
    if not isinstance(task, dict):
        raise SpeechIQError(f"{file}: contains {type(task).__name__}, not the keys of a task; correct it")
    return dict(task)


@lru_cache(maxsize=64)
def _parse(text: str) -> Any:
    """Return the content of a YAML; templates are included by many files and parsed once."""
    return yaml.load(text, _Loader)


def write_task(file: Path, task: dict[str, Any]) -> None:
    """Write a task as a YAML without includes."""
    file.write_text(yaml.dump(task, Dumper=_Dumper, sort_keys=False, allow_unicode=True), encoding="utf-8")
