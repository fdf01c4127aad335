"""Shards in processes of their own: killed, run twice, limited to stages, stopped, and collected by another run."""

from __future__ import annotations

import os
import signal

import pytest

from speechiq.core.cache.stage_cache import VARIABLE
from speechiq.harness_patch import processes
from speechiq.harness_patch.plan import Plan
from tests.harness_patch.test_resume import count, signal_after
from tests.warm import run_warm, siq_run, siq_work

pytestmark = pytest.mark.slow
#: Of four clips, these shards have two, one and one.
COUNT = 3
SIGNAL = "SIGNAL_AFTER_ROWS"


def shard_with_signal():
    """Run a shard that gets a signal in the middle of the write after a number of rows."""
    name, rows = os.environ[SIGNAL].split()
    signal_after(int(rows), signal.Signals[name])
    siq_work()


class Run:
    """Run a tiny cascade on four clips of the demo, with a response cache of its own."""

    def __init__(self, cascade, folder):
        self.system, self.store = f"{cascade.spec},llm_answer=likelihood", folder / "store"
        metadata = (f"embedder={cascade.llm}",)
        tasks, folder = ("siq_demo",), str(folder / "runs")
        self.plan = Plan((), tasks, folder, batch_size=1, device="cpu", limit=4, metadata=metadata)

    def start(self, entry, plan, **environment):
        env = processes.environment_of(plan) | {"SIQ_STORE": str(self.store), "OMP_NUM_THREADS": "1"}
        return run_warm(entry, *processes.run_command(self.system, plan)[1], env=env | environment)

    def fill(self, number, *, count=COUNT, stages=(), after=None):
        plan = self.plan.change(shard=(number, count), stages=stages)
        return self.start(shard_with_signal if after else siq_work, plan, **({SIGNAL: after} if after else {}))

    def collect(self, samples, **environment):
        done = self.start(siq_run, self.plan.change(samples=samples), **environment)
        files = self.plan.folder.rglob("samples_*.jsonl")
        return done, {file.name.partition("_2")[0]: file.read_bytes() for file in files}

    def rows(self):
        return count(self.store)


#: The docs about the first four clips, as the check of `siq eval` finds them.
FOUR = {f"siq_demo_{level}": list(range(4)) for level in ("remember", "understand")} | {
    "siq_demo_apply": list(range(12))
}


@pytest.fixture(scope="module")
def single(tiny_cascade, tmp_path_factory):
    """The samples of one process without shards."""
    run = Run(tiny_cascade, tmp_path_factory.mktemp("single"))
    done, samples = run.collect(FOUR)
    assert done.returncode == 0 and len(samples) == 3, done.stderr[-3000:]
    return run, samples


@pytest.fixture
def run(tiny_cascade, tmp_path):
    return Run(tiny_cascade, tmp_path)


def test_killed_repeated_and_missing_shards_end_with_the_rows_of_one_process(run, single):
    killed = run.fill(1, after="SIGKILL 6")
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-3000:]
    assert [run.fill(number).returncode for number in (1, 2)] == [0, 0]
    before = run.rows()
    assert run.fill(2).returncode == 0 and run.rows() == before, "a shard that runs again computes nothing"
    assert not run.plan.folder.exists(), "shards write no results"
    refused, _ = run.collect(FOUR, **{VARIABLE: ""})
    assert refused.returncode == 1 and "stage asr: 1 of 4 rows are not in the response cache" in refused.stderr
    done, samples = run.collect(FOUR)
    assert done.returncode == 0 and samples == single[1], "what the missing shard did not compute is computed"
    assert run.rows() == single[0].rows(), "no row is computed twice"


def test_each_stage_can_have_a_machine_of_its_own(run, single):
    early = run.fill(1, count=1, stages=("llm",))
    assert early.returncode == 1 and "siq: error: stage asr: 4 of 4 rows are not in" in early.stderr
    assert "siq eval --stages asr" in early.stderr and run.rows().get("text", 0) == 0
    for stage, expected in (("asr", {"asr"}), ("embed", {"asr", "embedder"}), ("llm", {"asr", "embedder", "text"})):
        done = run.fill(1, count=1, stages=(stage,))
        assert done.returncode == 0, done.stderr[-3000:]
        assert {name for name, rows in run.rows().items() if rows} == expected
    done, samples = run.collect(FOUR, **{VARIABLE: ""})
    assert done.returncode == 0 and "no model had to run" in done.stderr and samples == single[1]


@pytest.mark.parametrize("rows", [0, 2])
def test_sigterm_ends_a_shard_after_the_batch(run, rows):
    done = run.fill(1, count=1, after=f"SIGTERM {rows}")
    assert done.returncode == processes.CONTINUE and "Traceback" not in done.stderr
    assert sum(run.rows().values()) == rows + 1, "the batch in progress is kept, and no other begins"
