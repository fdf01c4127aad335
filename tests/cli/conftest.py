"""Share fixtures between the tests of commands: runs that scores are computed from."""

import pytest

from speechiq.core.console import Progress
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch import processes
from speechiq.harness_patch.work import PlannedWork, SystemWork, TaskWork
from tests.reducer.conftest import levels, two_runs, write_run

__all__ = ["two_runs"]


@pytest.fixture
def instant(monkeypatch):
    """Write runs without computing them; return the list of the systems that ran."""
    ran = []

    def write(system, plan, log, show):
        ran.append(system)
        show(Progress("transcribing", 1, 2, "clip"))
        log.write_text("2026 WARNING  [speechiq.engines.x:1] one clip was cut\n|acc|0.5|\n")
        if "broken" in system:
            raise SpeechIQError("the model is broken")
        skill = {"good": 0.9, "fair": 0.5, "poor": 0.1}[system.partition(",")[0]]
        write_run(plan.folder / f"{system}-{len(ran)}", levels(skill), system=system.partition(",")[0])

    monkeypatch.setattr(processes, "run_with_log", write)
    monkeypatch.setattr(processes, "count_work", take_stock)
    monkeypatch.setattr(processes, "find_server", lambda: None)
    return ran


def take_stock(plan):
    """Return the work of systems that are named by their specs, on tasks of SIQ."""
    tasks = [TaskWork(f"{plan.tasks[0]}_{level}", 14, 14, 400.0, "siq", level) for level in levels(0.5)]
    return PlannedWork(
        tasks, [SystemWork(each, each.partition(",")[0], [], True) for each in plan.systems], 14, 400.0, {}
    )
