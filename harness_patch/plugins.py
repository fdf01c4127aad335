"""Lets lm-eval find the suite: a back-port of its entry points for versions that read none.

`speechiq.pth` calls `install` at interpreter start, so this module imports next to nothing. It puts a
finder on `sys.meta_path` that does one thing: when lm-eval imports one of the modules in `AFTER_IMPORT`,
the function named there is called on it. Where lm-eval reads entry points itself, the back-ported ones
find its loader and stay quiet.
"""

import os
import sys

SUITE = "speechiq"
OURS = ("hf-audio", "audio-api")


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

    init.__doc__, init.__wrapped__ = original.__doc__, original
    manager.TaskManager.__init__ = init


def note_output_path(tracker) -> None:
    """Remember where this process will write, so that `hf-audio` can check it before hours of compute."""
    original = tracker.EvaluationTracker.__init__

    def init(self, output_path=None, *args, **kwargs):
        original(self, output_path, *args, **kwargs)
        tracker.EvaluationTracker.last_output_path = output_path

    init.__doc__, init.__wrapped__ = original.__doc__, original
    tracker.EvaluationTracker.__init__ = init


def errors_in_one_line(command_line) -> None:
    """On lm-eval's command line, an error that the user can mend ends the run with one line."""
    from speechiq.core.errors import print_in_one_line

    print_in_one_line()


def refuse_secrets_in_addresses(evaluator) -> None:
    """Refuse an address with a password or key among the options of our models before lm-eval logs and stores them."""
    from functools import wraps

    original = evaluator.simple_evaluate

    @wraps(original)
    def simple_evaluate(model, model_args=None, *args, **kwargs):
        if model in OURS:
            from speechiq.core.addresses import refuse_secrets

            given = {"--model_args": model_args, "--metadata": kwargs.get("metadata")}
            refuse_secrets(
                given, f"{model}:", "set the environment variable OPENAI_API_KEY, or name one by key_variable"
            )
        return original(model, model_args, *args, **kwargs)

    evaluator.simple_evaluate = simple_evaluate


AFTER_IMPORT = {
    "lm_eval.models": register_models,
    "lm_eval.tasks.manager": add_task_folder,
    "lm_eval.loggers.evaluation_tracker": note_output_path,
    "lm_eval._cli.run": errors_in_one_line,
    "lm_eval.evaluator": refuse_secrets_in_addresses,
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
