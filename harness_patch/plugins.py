"""Let lm-eval find the suite: a back-port of its entry points for versions that do not read them.

`speechiq.pth` calls `install` at interpreter start, so this module imports very little. It adds a finder to
`sys.meta_path`. When lm-eval imports one of the modules in `hooks.HOOKS`, the finder calls the function of that module.
"""

from __future__ import annotations

import os
import sys

#: True to a type checker; defined here because `typing` must not be imported at interpreter start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class AfterImport:
    """Find modules with the other meta-path finders, and call a function after their execution."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of `hooks.HOOKS` and wrap its loader; return None for all others."""
        if not name.startswith("lm_eval."):
            return None
        let_threads_sleep()
        from speechiq.harness_patch.hooks import HOOKS

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


def let_threads_sleep() -> None:
    """Let threads that wait for others sleep, unless the user decided otherwise; before torch and numpy are imported.

    By default the threads of OpenMP spin while they wait, and take the cores from the process that they wait for as
    soon as anything else runs on the machine (`benchmarks/busy_neighbor.py`). MKL may bring Intel's own threads, which
    spin for `KMP_BLOCKTIME` milliseconds. Those of OpenBLAS, which numpy brings, spin for 2 to the power of
    `OPENBLAS_THREAD_TIMEOUT` cycles: by default 26, at least 4.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("KMP_BLOCKTIME", "0")
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")


def install() -> None:
    """Install the finder once; call the functions of modules that are already imported."""
    if any(type(finder).__name__ == AfterImport.__name__ for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, AfterImport())
    if "lm_eval" not in sys.modules:
        return
    from speechiq.harness_patch.hooks import HOOKS

    for name, function in HOOKS.items():
        if name in sys.modules:
            function(sys.modules[name])
