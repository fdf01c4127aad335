"""Show the work of an evaluation before it starts, and refuse options that do not fit it."""

from __future__ import annotations

from collections.abc import Iterator

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.inventory import Inventory, SystemWork
from speechiq.siq_tasks.catalog.suite import SUITE


def describe_work(inventory: Inventory) -> Iterator[str]:
    """Yield the work in words, a line each; each begins with `#`, so that the output with its commands is a script."""
    systems, tasks = len(inventory.systems), len(inventory.tasks)
    yield (
        f"# {count_of(systems, 'system')} x {count_of(tasks, 'task')}: {count_of(inventory.clips, 'clip')}, "
        f"{inventory.seconds / 3600:.2f} h of audio"
    )
    for task in inventory.tasks:
        sizes = f"{count_of(task.docs, 'doc')}, {count_of(task.clips, 'clip')}, {task.seconds / 3600:.2f} h"
        yield f"# {task.task}: {sizes}"
    for system in inventory.systems:
        yield f"# {system.system}: {_describe_cache(system)}"


def _describe_cache(system: SystemWork) -> str:
    cached = ", ".join(f"{stage.stage} {stage.cached} of {stage.rows} rows" for stage in system.stages)
    if not cached:
        return "runs no model"
    return f"cached: {cached}" + "; later rows are not counted yet" * (not system.complete)


def refuse_norms(inventory: Inventory, norms_file: str | None) -> None:
    """Refuse norms for tasks of other suites than SIQ.

    Raises:
        SpeechIQError: No task of the run is one of SIQ.
    """
    suites = {task.suite for task in inventory.tasks} - {""}
    if norms_file is not None and suites and SUITE not in suites:
        raise SpeechIQError(
            f"--norms {norms_file}: only SIQ has norms, and the tasks are of suite {', '.join(sorted(suites))}; "
            "leave --norms out"
        )
