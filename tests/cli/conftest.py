"""Share fixtures between the tests of commands: runs that scores are computed from, and processes that start warm."""

import msgspec
import pytest

from speechiq.core.cache.stage_cache import Stopped
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch import processes
from speechiq.harness_patch.work import PlannedWork
from tests.reducer.conftest import two_runs
from tests.warm import run_warm, siq_run, siq_work

__all__ = ["two_runs"]


@pytest.fixture
def warm_processes(monkeypatch):
    """Check and run systems in processes that are forked from a warm one, where `siq eval` starts interpreters."""

    def check(plan):
        done = run_warm(siq_work, *processes.work_command("count", plan)[3:], env=processes.environment_of(plan))
        if done.returncode:
            raise SpeechIQError(processes._last_error(done.stderr.splitlines()) or done.stderr)
        return msgspec.json.decode(done.stdout.splitlines()[-1], type=PlannedWork)

    def run_with_log(system, plan, log, show):
        entry = siq_run if plan.shard is None else siq_work
        done = run_warm(entry, *processes.run_command(system, plan)[3:], env=processes.environment_of(plan))
        log.write_text(done.stdout + done.stderr)
        if done.returncode == processes.CONTINUE:
            raise Stopped
        if done.returncode:
            raise SpeechIQError(processes.find_reason(log, done.returncode))

    monkeypatch.setattr(processes, "count_work", check)
    monkeypatch.setattr(processes, "run_with_log", run_with_log)
