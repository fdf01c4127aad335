"""Share fixtures between the tests of commands: runs that scores are computed from, and processes that start warm."""

import msgspec
import pytest

from speechiq.core.cache.stage_limits import Stopped
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch import processes
from speechiq.harness_patch.inventory import Inventory
from tests.reducer.conftest import two_runs
from tests.warm import run_warm, siq_check, siq_run, siq_shard

__all__ = ["two_runs"]


@pytest.fixture
def warm_processes(monkeypatch):
    """Check and run systems in processes that are forked from a warm one, where `siq eval` starts interpreters."""

    def check(systems, settings):
        done = run_warm(
            siq_check,
            processes._module_command("inventory", systems, settings)[-1],
            env=processes._environment(settings),
        )
        if done.returncode:
            raise SpeechIQError(processes._last_error(done.stderr.splitlines()) or done.stderr)
        return msgspec.json.decode(done.stdout.splitlines()[-1], type=Inventory)

    def run_with_log(system, settings, log, show):
        entry = siq_run if settings.shard is None else siq_shard
        done = run_warm(entry, *processes._here(system, settings)[3:], env=processes._environment(settings))
        log.write_text(done.stdout + done.stderr)
        if done.returncode == processes.CONTINUE:
            raise Stopped
        if done.returncode:
            raise SpeechIQError(processes.find_reason(log, done.returncode))

    monkeypatch.setattr(processes, "check", check)
    monkeypatch.setattr(processes, "run_with_log", run_with_log)
