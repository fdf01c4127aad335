"""Complete names on the command line: systems, tasks and norms, from lists that are quick to make."""

from __future__ import annotations

from speechiq.core.cache.folder import cache_dir
from speechiq.core.checkpoints.names import DEMO

CONTROLS = ("gold+", "silence+", "letter:A", "letter:B", "letter:C", "letter:D", "letter:E")


def complete_system(incomplete: str) -> list[str]:
    """Return specs that begin like the given text: the demo, its models, engines and controls.

    Models of further stages are completed after each `+`.
    """
    from speechiq.engines.registry import STAGES, list_backends

    before, plus, last = incomplete.rpartition("+")
    models = [f"{DEMO}{file.parent.name}" for file in cache_dir("models").glob("*/config.json")]
    engines = [f"{name}:" for kind in STAGES for name, each in list_backends(kind).items() if each.takes_model]
    names = {"demo", *CONTROLS, *models, *engines} if not plus else {*models, *engines}
    return sorted(f"{before}{plus}{name}" for name in names if name.startswith(last))


def complete_tasks(incomplete: str) -> list[str]:
    """Return tasks and groups of the suite that begin like the last of the given names."""
    from speechiq.siq_tasks.catalog.tasks import list_tasks

    before, comma, last = incomplete.rpartition(",")
    names = set[str]().union(*(task.names for task in list_tasks(check_files=False)))
    return sorted(f"{before}{comma}{name}" for name in names if name.startswith(last))


def complete_norms(incomplete: str) -> list[str]:
    """Return the norms of the package that begin like the given text."""
    from speechiq.reducer.scores.norms import SHIPPED

    return sorted(name for name in SHIPPED if name.startswith(incomplete))
