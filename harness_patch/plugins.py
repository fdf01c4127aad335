"""Let lm-eval find the suite: a back-port of its entry points for versions that do not read them.

`speechiq.pth` calls `install` at interpreter start, so this module imports very little. It adds a finder to
`sys.meta_path` that does two things. When lm-eval imports one of the modules in `_lm_eval.HOOKS`, the finder calls the
function of that module. Before one of `BEGINNINGS` is imported, it makes Ctrl-C end the start of a command in one line.
If lm-eval reads entry points itself, the back-ported functions detect its loader and do nothing.
"""

from __future__ import annotations

import sys

#: True to a type checker; defined here because `typing` must not be imported at interpreter start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from importlib.metadata import EntryPoint
    from types import ModuleType
    from typing import Any

SUITE = "speechiq"
#: Commands whose start takes seconds, and what each imports first.
COMMANDS = ("lm_eval", "lm-eval", "siq")
BEGINNINGS = ("lm_eval", "speechiq.cli")


def print_stop_in_one_line() -> None:
    """Make Ctrl-C end the start of a command of `COMMANDS` in one line; other programs are not changed."""
    from pathlib import Path

    if any(Path(word).name in COMMANDS for word in sys.orig_argv[:4]):
        from speechiq.core.errors import print_in_one_line

        print_in_one_line()


def find_entry_points(group: str) -> list[EntryPoint]:
    """Return the entry points of speechiq in a group."""
    from importlib.metadata import entry_points

    return [entry for entry in entry_points(group=group) if entry.value.startswith(SUITE)]


def find_task_folders() -> list[str]:
    """Return the folders with the task YAMLs of speechiq."""
    from importlib.util import find_spec

    specs: list[Any] = [find_spec(entry.value) for entry in find_entry_points("lm_eval.tasks")]
    return [str(spec.submodule_search_locations[0]) for spec in specs]


class AfterImport:
    """Find modules with the other meta-path finders, and call a function after their execution."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of `_lm_eval.HOOKS` and wrap its loader; return None for all others."""
        if name in BEGINNINGS:
            print_stop_in_one_line()
        if not name.startswith("lm_eval."):
            return None
        from speechiq.harness_patch._lm_eval import HOOKS

        if name not in HOOKS:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                self._call_after(spec.loader, HOOKS[name])
                return spec
        return None

    @staticmethod
    def _call_after(loader: Any, function: Callable[[ModuleType], None]) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            function(module)

        loader.exec_module = exec_module


def install() -> None:
    """Install the finder once; call the functions of modules that are already imported."""
    if any(type(finder).__name__ == AfterImport.__name__ for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, AfterImport())
    if "lm_eval" not in sys.modules:
        return
    from speechiq.harness_patch._lm_eval import HOOKS

    for name, function in HOOKS.items():
        if name in sys.modules:
            function(sys.modules[name])
