"""Refuse the code that a task folder of somebody else names, before any of it is imported.

A process of `siq` calls `refuse_if_asked`; `lm_eval` itself imports what a task file names, as its users expect.
"""

import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch import _lm_eval
from speechiq.siq_tasks.index import HERE

#: Set by a program that starts a run and may not run the code of its task folder.
VARIABLE = "SIQ_REFUSE_CODE"
#: Where the functions are that a task file of anyone may name.
PUBLIC = ("speechiq.siq_tasks.", "speechiq.metrics.")
FIX = "add --allow-code if you trust all files of its folder"


def refuse_if_asked() -> None:
    """Make lm-eval refuse foreign code in this process if the environment asks for it; after `plugins.install`."""
    if os.environ.get(VARIABLE):
        _lm_eval.guard_code(sys.modules[__name__])


def import_function(file: Path, name: str, import_it: Callable[[], Any]) -> Any:
    """Return the function that a task file names by `!function`; refuse one that is not of speechiq."""
    if _is_installed(file):
        return import_it()
    module, _, _ = name.rpartition(".")
    # lm-eval imports a file beside the task file in the place of a package of the same name.
    beside = file.parent / f"{module.replace('.', '/')}.py"
    if name.startswith(PUBLIC) and not beside.exists():
        function = import_it()
        if str(getattr(function, "__module__", "")).startswith("speechiq."):
            return function
    raise SpeechIQError(file, f"!function {name} is code that does not come with speechiq", FIX)


def check_settings(file: Path, task: Any) -> None:
    """Refuse settings of a task file that load code, or send answers and a key to an address, for its judge."""
    if _is_installed(file):
        return
    from speechiq.engines.options import list_names
    from speechiq.metrics.judge.settings import ROLES

    own = {f"{role}_{name}" for role, options in ROLES.items() for name in list_names(options)}
    for key, value in _list_settings(task):
        if key.endswith("trust_remote_code") and value:
            raise SpeechIQError(file, f"{key}: {value!r:.80} runs code of a model or data set", FIX)
        role = key.partition("_")[0]
        if role in ROLES and role != key and key not in own:
            raise SpeechIQError(
                file, f"{key}: {value!r:.80} is an option of the {role}'s engine", f"give it with --metadata, or {FIX}"
            )


def refuse_metric(name: str) -> None:
    """Refuse a metric that lm-eval does not have and would load as a script."""
    raise SpeechIQError(f"metric_list: {name}", "not a metric of lm-eval, and a script would be loaded for it", FIX)


def refuse_attribute(name: str) -> None:
    """Refuse a template that reads what leads to Python's own functions."""
    raise SpeechIQError(f"template: .{name}", "leads to code outside of the template", FIX)


def _is_installed(file: Path) -> bool:
    """Return whether a task file comes with speechiq or lm-eval."""
    harness = find_spec("lm_eval")
    folders = [HERE, *(harness.submodule_search_locations or () if harness else ())]
    return any(file.resolve().is_relative_to(Path(folder).resolve()) for folder in folders)


def _list_settings(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key with its value, at any depth; what aliases repeat is read once."""
    left, seen = [content], set[int]()
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            yield from ((str(key), value) for key, value in part.items())
            left += part.values()
        elif isinstance(part, list):
            left += part
