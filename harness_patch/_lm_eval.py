"""Adapt private and undocumented parts of lm-eval; no other file names them.

Each function serves one need and was tested with lm-eval 0.4.13. `tests/harness_patch/test_lm_eval_contract.py` checks
that each part exists and behaves as this file expects; `make test-upstream` repeats the check with the newest version.
Functions that take a module change it right after its import (see `hooks`).

One other file depends on an undocumented part of lm-eval: `siq_tasks/task.py`, which may not import this file, checks
if the module `lm_eval.scorers` exists, because versions after 0.4.13 need another form of `metric_list`.
"""

import argparse
import functools
import os
import pickle
import re
import subprocess
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from types import ModuleType
from typing import Any

MISSING_TASKS = "Tasks not found: "
#: Logger and text of a line that advises `--apply_chat_template`. It is wrong for a speech run, in which each stage
#: applies the chat template of its own model; no option of lm-eval turns off this line alone.
CHAT_NOISE = ("lm_eval.evaluator", "chat template is not applied")
_task_managers: list[Any] = []


def register_models(entries: Iterable[EntryPoint]) -> None:
    """Register entry points of the group `lm_eval.models` as placeholders: `model_registry.register(target=...)`.

    lm-eval 0.4.13 reads no entry points, and its public decorator `register_model` needs the class itself, which would
    import torch at every start. Later versions have `load_plugins` and register the entry points themselves.
    """
    from lm_eval.api import registry

    if hasattr(registry, "load_plugins"):
        return
    for entry in entries:
        if entry.name not in registry.model_registry:
            registry.model_registry.register(entry.name, target=entry.value)


def add_task_folders(manager: ModuleType, suite: Callable[[], Sequence[str]]) -> None:
    """Make every `TaskManager` read the folders of `suite`: built-in tasks < the suite < `--include_path`.

    Wraps `TaskManager.__init__`. The public `include_path` is the user's option, and the command line has no other way
    to add a folder. Later versions have `discover_plugin_task_paths`, which adds the suite beside the built-in tasks.
    With `SIQ_TASKS=only` in the environment these are not read, in any version; their index takes most of its start
    time.
    """
    original = manager.TaskManager.__init__

    @functools.wraps(original)
    def init(
        self: Any,
        verbosity: str | None = None,
        include_path: str | Path | list[str | Path] | None = None,
        include_defaults: bool = True,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        given = include_path if isinstance(include_path, list | tuple) else [include_path]
        with_defaults = include_defaults and os.environ.get("SIQ_TASKS") != "only"
        finds_suite = with_defaults and hasattr(manager, "discover_plugin_task_paths")
        folders = [*(() if finds_suite else suite()), *(path for path in given if path)]
        original(self, verbosity, folders, with_defaults, *args, **kwargs)
        self.include_path = include_path
        _task_managers[:] = [self]

    manager.TaskManager.__init__ = init


def add_language_tasks(
    manager: ModuleType, suite: Callable[[], Sequence[str]], language_tasks: Callable[[], Iterable[Any]]
) -> None:
    """Add tasks that have no file of their own to the index of every `TaskManager`; a file with the same name wins.

    Wraps `TaskIndex.build`, whose entries are of files alone; an entry without a file is made by the `class` in its
    keys. `language_tasks` returns `siq_tasks.index.LanguageTask`s. The files in the folders of `suite` do
    not change, so their index is built once in a process, and pickled, the fastest way to copy it.
    """
    index = manager.TaskIndex
    build = index.build
    own_folders = functools.cache(lambda: [Path(folder) for folder in suite()])
    own = functools.cache(lambda: pickle.dumps(build(own_folders())))

    @functools.wraps(build)
    def build_all(paths: Iterable[Path], **options: Any) -> Any:
        paths = list(paths)
        is_own = not options and paths == own_folders()
        entries = pickle.loads(own()) if is_own else build(paths, **options)
        for task in language_tasks():
            if task.name not in entries:
                index.process_cfg({**task.keys, "class": _make_builder(task)}, None, entries)
        return entries

    index.build = staticmethod(build_all)


def _make_builder(task: Any) -> type:
    """Return a class that reads a task's template and returns the task in the place of an object of its own.

    Reading it only then keeps torch, which metrics import, out of the start of lm-eval.
    """

    class Builder:
        def __new__(cls, config: dict[str, Any]) -> Any:
            from lm_eval.tasks._yaml_loader import load_yaml

            own = task.join(load_yaml(task.template, resolve_func=True))
            made = own.pop("class")
            given = {key: value for key, value in config.items() if key != "class"}
            # Its metadata have those of the run, which win.
            return made(config={**own, **given, "metadata": {**own["metadata"], **given["metadata"]}})

        def __init__(self, config: dict[str, Any]) -> None:
            """Declare that the configuration is wanted."""

    return Builder


def check_outputs(tracker: ModuleType, check_results: Callable, check_samples: Callable) -> None:
    """Make lm-eval call a check after it saved results, and one after it saved the samples of a task.

    Wraps both `save_results_...` methods of `EvaluationTracker`, which only log what they could not write.
    """
    kind = tracker.EvaluationTracker
    kind.save_results_aggregated = _then(kind.save_results_aggregated, check_results)
    kind.save_results_samples = _then(kind.save_results_samples, check_samples)


def _then(save: Callable, check: Callable) -> Callable:
    @functools.wraps(save)
    def save_and_check(self: Any, *args: Any, **kwargs: Any) -> Any:
        saved = save(self, *args, **kwargs)
        if self.output_path:
            check(self, *args, **kwargs)
        return saved

    return save_and_check


def find_saved_file(tracker: Any, ending: str, beginning: str = "") -> Path:
    """Return the path of the file that `EvaluationTracker` wrote last, even if the file does not exist.

    `save_results_aggregated` builds the names from `date_id` and `general_config_tracker` and does not return them.
    `ending` is `.json` or `.jsonl`; `beginning` is empty for the results file.
    """
    place = Path(tracker.output_path)
    if place.suffix == ".json":
        return place.with_name(f"{beginning or f'{place.stem}_'}{tracker.date_id}{ending}")
    folder = place / str(tracker.general_config_tracker.model_name_sanitized)
    return folder / f"{beginning or 'results_'}{tracker.date_id}{ending}"


def ask_git_quietly() -> None:
    """Keep git from printing an error outside a repository: `loggers.utils.get_git_commit_hash` of every run."""
    from lm_eval.loggers import utils

    def describe_commit() -> str | None:
        status, commit = subprocess.getstatusoutput("git describe --always")
        return utils.get_commit_from_path(Path.cwd()) if status else commit

    utils.get_git_commit_hash = describe_commit


def list_packages_once() -> None:
    """Let the runs of this process and its forks list the packages of the machine one time for all, without pip.

    `get_pip_packages` of `torch.utils.collect_env`, by which lm-eval describes the machine in each results file. It
    reads what `pip list --format=freeze` prints, which takes two seconds.
    """
    from torch.utils import collect_env

    listed = collect_env.get_pip_packages(lambda command: (0, _list_packages(), ""))
    collect_env.get_pip_packages = lambda run, patterns=None: listed


def _list_packages() -> str:
    """Return the installed packages as `pip list --format=freeze` prints them; the first of a name is the one used.

    A package that was removed in part has no name, and is left out.
    """
    found: dict[str, str] = {}
    for package in distributions():
        about = package.metadata  # Read anew from the disk at each access.
        if "Name" in about:
            name = about["Name"]
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), f"{name}=={about['Version']}")
    return "\n".join(found[name] for name in sorted(found))


@contextmanager
def compiling_templates_once() -> Iterator[None]:
    """Compile each template once inside the block, by the public `from_string` of `env` of `lm_eval.utils`."""
    from lm_eval import utils

    environment: Any = utils.env
    environment.from_string = functools.cache(environment.from_string)
    try:
        yield
    finally:
        del environment.from_string


def guard_runs(evaluator: Any, guard_run: Callable, guard_tasks: Callable) -> None:
    """Check runs before they compute, by wrapping the public functions `simple_evaluate` and `evaluate`.

    Every run calls these, however it was started; lm-eval has no hook before a run.
    """
    evaluator.simple_evaluate = guard_run(evaluator.simple_evaluate)
    evaluator.evaluate = guard_tasks(evaluator.evaluate)


def wrap_command(command_line: Any, wrap_run: Callable) -> None:
    """Wrap the command `lm_eval run`: `Run._execute` of `lm_eval._cli.run`, in a private package."""
    command_line.Run._execute = staticmethod(wrap_run(command_line.Run._execute))


def add_help(text: Callable[[], str]) -> None:
    """Add a text to the help of `run`: `Run._parser`; the public `cli_evaluate` builds its parser itself."""
    from lm_eval._cli.run import Run

    original = Run.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        shown = self._parser.format_help
        self._parser.format_help = lambda: shown() + text()

    Run.__init__ = init


def guard_code(guard: ModuleType) -> None:
    """Let a module (`foreign_code`) decide on the code that task files name, before it is imported.

    Wraps what `_yaml_loader` makes for `!function`, `load_yaml` of `_factory`, and `get_metric` of `api.task`, which
    loads an unknown metric as a script; replaces `env` of `utils`, which renders templates, by jinja2's sandbox.
    """
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    from lm_eval import utils
    from lm_eval.api import metrics, registry, task  # noqa: F401 (metrics fills the registry)
    from lm_eval.tasks import _factory, _yaml_loader

    make, load, find, old = _yaml_loader._mk_function_ctor, _factory.load_yaml, task.get_metric, utils.env

    def make_guarded(folder: Path, resolve: bool) -> Callable[[Any, Any], Any]:
        def construct(loader: Any, node: Any) -> Any:
            import_it = functools.partial(make(folder, resolve), loader, node)
            return guard.import_function(Path(node.start_mark.name), node.value, import_it) if resolve else import_it()

        return construct

    def load_checked(path: Any, **options: Any) -> Any:
        content = load(path, **options)
        guard.check_settings(Path(path), content)
        return content

    def find_registered(name: str, hf_evaluate_metric: bool = False) -> Any:
        return guard.refuse_metric(name) if hf_evaluate_metric or name not in registry.metric_registry else find(name)

    class Sandbox(ImmutableSandboxedEnvironment):
        def unsafe_undefined(self, thing: Any, attribute: str) -> Any:
            guard.refuse_attribute(attribute)

    _yaml_loader._mk_function_ctor, _factory.load_yaml, task.get_metric = make_guarded, load_checked, find_registered
    utils.env = Sandbox(loader=old.loader, undefined=old.undefined, keep_trailing_newline=old.keep_trailing_newline)
    utils.env.filters.update(old.filters)


def list_model_types() -> list[str]:
    """Return the names of all registered model types.

    `model_registry` has those of lm-eval after the import of `lm_eval.models`. The public `get_model` imports torch.
    """
    import lm_eval.models  # noqa: F401 (fills the registry)
    from lm_eval.api.registry import model_registry

    return list(model_registry)


def list_known_tasks() -> list[str]:
    """Return the tasks of the newest `TaskManager`; an empty list if none was made."""
    return [name for manager in _task_managers for name in manager.all_tasks]


def read_config_file(path: str) -> dict[str, Any]:
    """Return the options in a file of `lm_eval run --config`; raise `OSError`, `ValueError` or `TypeError` without any.

    The public function for `EvaluatorConfig.load_yaml_config` checks the options and needs the whole command line.
    """
    from lm_eval.config.evaluate_config import EvaluatorConfig

    return EvaluatorConfig.load_yaml_config(path)


def is_about_options(error: Exception) -> bool:
    """Return whether lm-eval's check of the command line raised `error`, judged by the module that raised it."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals.get("__name__") == "lm_eval.config.evaluate_config"


def find_missing_task(message: str) -> str | None:
    """Return the first task that lm-eval did not find, read from its error text; None for other errors."""
    return message.removeprefix(MISSING_TASKS).split(", ")[0] if message.startswith(MISSING_TASKS) else None


def unpack_tasks(tasks: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the tasks by name from the argument of `evaluate`, to which lm-eval's loader adds groups."""
    return tasks.get("tasks", tasks)


def parse_arguments(text: str) -> dict[str, Any]:
    """Parse `model_args` given as text like lm-eval does, with its undocumented `simple_parse_args_string`."""
    from lm_eval.utils import simple_parse_args_string

    return simple_parse_args_string(text)


def parse_value(text: str) -> Any:
    """Parse a value of `--metadata` given as text like lm-eval does, with its undocumented `handle_arg_string`."""
    from lm_eval.utils import handle_arg_string

    return handle_arg_string(text)


def parse_pairs(items: Sequence[str]) -> dict[str, Any]:
    """Return the values of an option such as `--metadata KEY=VALUE ...` as lm-eval's own argparse action reads them."""
    from lm_eval._cli.utils import MergeDictAction

    parser = argparse.ArgumentParser()
    parser.add_argument("items", nargs="*", action=MergeDictAction)
    return dict(parser.parse_args(["--", *items]).items or {}) if items else {}


def normalize_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return generation settings as lm-eval's own model types read them, with its undocumented `normalize_gen_kwargs`.

    A setting that is not a number is a `TypeError` or `ValueError`.
    """
    from lm_eval.models.utils import normalize_gen_kwargs

    return dict(normalize_gen_kwargs(dict(settings)))
