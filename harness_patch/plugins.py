"""Lets lm-eval find the suite: a back-port of its entry points for versions that read none.

`speechiq.pth` calls `install` at interpreter start, so this module imports next to nothing. It puts a
finder on `sys.meta_path` that does two things: when lm-eval imports one of the modules in `AFTER_IMPORT`,
the function named there is called on it; and before one of `BEGINNINGS` is imported, Ctrl-C is made to end
the start of a command in one line. Where lm-eval reads entry points itself, the back-ported ones find its
loader and stay quiet.
"""

import os
import sys

SUITE = "speechiq"
#: Commands whose start takes seconds, and what each imports first.
COMMANDS = ("lm_eval", "lm-eval", "siq")
BEGINNINGS = ("lm_eval", "speechiq.cli")


def register_models(models) -> None:
    """Register every entry point of group `lm_eval.models` as a placeholder (lm-eval <= 0.4.13)."""
    from lm_eval.api import registry

    if hasattr(registry, "load_plugins"):
        return
    for entry in _entry_points("lm_eval.models"):
        if entry.name not in registry.model_registry:
            registry.model_registry.register(entry.name, target=entry.value)


def add_task_folder(manager) -> None:
    """Make every `TaskManager` look into the suite's folder: built-in tasks < ours < `--include_path`.

    With `SIQ_TASKS=only` in the environment lm-eval's built-in tasks, whose index is most of its start, stay unread.
    """
    if hasattr(manager, "discover_plugin_task_paths"):
        return
    original = manager.TaskManager.__init__

    def init(self, verbosity=None, include_path=None, include_defaults=True, *args, **kwargs):
        given = include_path if isinstance(include_path, list | tuple) else [include_path]
        folders = [*_task_folders(), *(path for path in given if path)]
        original(self, verbosity, folders, include_defaults and os.environ.get("SIQ_TASKS") != "only", *args, **kwargs)
        self.include_path = include_path
        manager.TaskManager.latest = self

    init.__doc__, init.__wrapped__ = original.__doc__, original
    manager.TaskManager.__init__ = init


def check_outputs(tracker) -> None:
    """Read back what lm-eval saved of a speech run, of which it only logs what it could not write."""
    from speechiq.harness_patch.outputs import check_saved_files

    check_saved_files(tracker.EvaluationTracker)


def guard_runs(evaluator) -> None:
    """Check speech runs before they compute."""
    from speechiq.harness_patch.evaluation import guard

    guard(evaluator, [entry.name for entry in _entry_points("lm_eval.models")])


def improve_command_line(command_line) -> None:
    """Give `lm_eval run` errors in one line, help about speech systems, and a last line that says what comes next."""
    from speechiq.harness_patch.command_line import improve

    improve(command_line.Run, [entry.name for entry in _entry_points("lm_eval.models")])


def ask_git_quietly(utils) -> None:
    """Keep git from printing an error if the working directory is not in a repository."""
    original = utils.get_git_commit_hash

    def get_git_commit_hash():
        import subprocess
        from pathlib import Path

        command = ["git", "describe", "--always"]
        try:
            fails = subprocess.run(command, capture_output=True).returncode
        except OSError:
            fails = True
        return utils.get_commit_from_path(Path.cwd()) if fails else original()

    utils.get_git_commit_hash = get_git_commit_hash


def print_stop_in_one_line() -> None:
    """Make Ctrl-C while a command of `COMMANDS` starts end it in one line; other programs are left as they are."""
    from pathlib import Path

    if any(Path(word).name in COMMANDS for word in sys.orig_argv[:4]):
        from speechiq.core.errors import print_in_one_line

        print_in_one_line()


AFTER_IMPORT = {
    "lm_eval.models": register_models,
    "lm_eval.tasks.manager": add_task_folder,
    "lm_eval.loggers.evaluation_tracker": check_outputs,
    "lm_eval.loggers.utils": ask_git_quietly,
    "lm_eval.evaluator": guard_runs,
    "lm_eval._cli.run": improve_command_line,
}


def _entry_points(group):
    from importlib.metadata import entry_points

    return [entry for entry in entry_points(group=group) if entry.value.startswith(SUITE)]


def _task_folders():
    from importlib.util import find_spec

    return [str(find_spec(entry.value).submodule_search_locations[0]) for entry in _entry_points("lm_eval.tasks")]


class AfterImport:
    """A meta-path finder that lets the others find a module and adds a call after its execution."""

    def find_spec(self, name, path=None, target=None):
        if name in BEGINNINGS:
            print_stop_in_one_line()
        if name not in AFTER_IMPORT:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                self._call_after(spec.loader, AFTER_IMPORT[name])
                return spec
        return None

    @staticmethod
    def _call_after(loader, function):
        execute = loader.exec_module

        def exec_module(module):
            execute(module)
            function(module)

        loader.exec_module = exec_module


def install() -> None:
    """Put the finder in place, once; modules that are imported already are served at once."""
    if any(type(finder).__name__ == AfterImport.__name__ for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, AfterImport())
    for name, function in AFTER_IMPORT.items():
        if name in sys.modules:
            function(sys.modules[name])
