"""Task YAMLs read and written with their functions left as names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


class Function(str):
    """The name behind a `!function` tag."""


class _Loader(yaml.SafeLoader):
    pass


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


_Loader.add_constructor("!function", lambda loader, node: Function(node.value))
_Dumper.add_representer(Function, lambda dumper, name: dumper.represent_scalar("!function", str(name)))


def read_task(file: Path) -> dict[str, Any]:
    """A task or group with what it includes, its own keys winning, as lm-eval merges them."""
    task = yaml.load(file.read_text(encoding="utf-8"), _Loader)
    included = task.pop("include", None)
    return (read_task(file.parent / included) if included else {}) | task


def write_task(file: Path, task: dict[str, Any]) -> None:
    """A task that needs no other file."""
    file.write_text(yaml.dump(task, Dumper=_Dumper, sort_keys=False, allow_unicode=True), encoding="utf-8")
