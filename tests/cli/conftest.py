"""Share fixtures between the tests of commands: runs that scores are computed from, and processes that start warm."""

import json

import msgspec
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch import processes
from speechiq.harness_patch.inventory import Inventory
from tests.reducer.conftest import two_runs
from tests.warm import run_warm, siq_check, siq_run

__all__ = ["two_runs"]


@pytest.fixture
def warm_processes(monkeypatch):
    """Check and run systems in processes that are forked from a warm one, where `siq eval` starts interpreters."""

    def check(systems, settings):
        given = json.dumps({"systems": list(systems), **settings._asdict()}, default=str)
        done = run_warm(siq_check, given, env=processes._environment(settings))
        if done.returncode:
            raise SpeechIQError(processes._last_error(done.stderr.splitlines()) or done.stderr)
        return msgspec.json.decode(done.stdout.splitlines()[-1], type=Inventory)

    def run_with_log(system, settings, log, show):
        command = processes.lm_eval_command(system, settings)[1:]
        done = run_warm(siq_run, *command, env=processes._environment(settings))
        log.write_text(done.stdout + done.stderr)
        if done.returncode:
            raise SpeechIQError(processes.find_reason(log, done.returncode))

    monkeypatch.setattr(processes, "check", check)
    monkeypatch.setattr(processes, "run_with_log", run_with_log)
