"""Register the suite with lm-eval, and install the checks around a run: what is called after an import of a module.

Modules of speechiq are imported only then. If lm-eval reads entry points itself, it registers models and task folders.
"""

import functools
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from types import ModuleType

from speechiq.harness_patch import _lm_eval

SUITE = "speechiq"


def find_entry_points(group: str) -> list[EntryPoint]:
    """Return the entry points of speechiq in a group."""
    return [entry for entry in entry_points(group=group) if entry.value.startswith(SUITE)]


def find_task_folders() -> list[str]:
    """Return the folders with the task YAMLs of speechiq."""
    specs = filter(None, (find_spec(entry.value) for entry in find_entry_points("lm_eval.tasks")))
    return [str(next(iter(spec.submodule_search_locations or ()))) for spec in specs]


def _own_model_types() -> list[str]:
    return [entry.name for entry in find_entry_points("lm_eval.models")]


def _check_outputs(module: ModuleType) -> None:
    from speechiq.harness_patch.evaluation import check_results, check_samples

    _lm_eval.check_outputs(module, check_results, check_samples)


def _guard_runs(module: ModuleType) -> None:
    from speechiq.harness_patch.evaluation import guard_run, guard_tasks

    _lm_eval.guard_runs(module, functools.partial(guard_run, model_types=_own_model_types()), guard_tasks)


def _wrap_command(module: ModuleType) -> None:
    from speechiq.harness_patch.command_line import wrap_run

    _lm_eval.wrap_command(module, functools.partial(wrap_run, model_types=_own_model_types()))


def _add_tasks(module: ModuleType) -> None:
    from speechiq.siq_tasks.index import list_language_tasks

    _lm_eval.add_task_folders(module, find_task_folders)
    _lm_eval.add_language_tasks(module, find_task_folders, list_language_tasks)


#: Module of lm-eval -> what is called with it after its import.
HOOKS: Mapping[str, Callable[[ModuleType], None]] = {
    "lm_eval.models": lambda module: _lm_eval.register_models(find_entry_points("lm_eval.models")),
    "lm_eval.tasks.manager": _add_tasks,
    "lm_eval.loggers.evaluation_tracker": _check_outputs,
    "lm_eval.evaluator": _guard_runs,
    "lm_eval._cli.run": _wrap_command,
}
