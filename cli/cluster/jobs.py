"""Run the shards of a plan as jobs of submitit, and read how far each is."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from speechiq.cli.evaluation.command import STOPPED
from speechiq.core.batches import count_cores
from speechiq.core.console import ERROR, NOTE
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import load_record, store_record
from speechiq.core.files.plain import exists
from speechiq.core.suggestions import missing
from speechiq.harness_patch.plan import PlanFile

FOLDER, RECORD = "jobs", "jobs.json"
FIX = "choose another output"
#: Minutes of a local job: a month.
LOCAL_MINUTES = 43_200
#: Minutes of a job on Slurm, if the plan gives no `time`.
SLURM_MINUTES = 1_440
#: Bytes at the end of a log that are read for its last line.
TAIL = 4096


class Jobs(msgspec.Struct):
    """Record what was launched: the plan, by which executor, and the job of each shard, from number 1 on."""

    plan: PlanFile
    on: str
    ids: dict[int, str] = {}


class ShardJob:
    """Run one shard; submitit pickles it, and calls `checkpoint` before the machine is taken away or time is over."""

    def __init__(self, plan: PlanFile, devices: Mapping[int, str], cores: int = 0) -> None:
        self.plan, self.devices, self.cores = plan, devices, cores
        self._pid: int | None = None

    def __call__(self, number: int) -> str:
        """Run the commands of a shard; after SIGTERM, end with the batch, and on Slurm return to the queue."""
        environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
        if self.cores:
            environment.setdefault("OMP_NUM_THREADS", str(self.cores))
        if (devices := self.devices.get(number, os.environ.get("CUDA_VISIBLE_DEVICES"))) is not None:
            environment["CUDA_VISIBLE_DEVICES"] = devices
        signal.signal(signal.SIGTERM, lambda number, frame: self._ask_to_end())
        for words in self.plan.shard_commands(number):
            print(f"$ {shlex.join(words)}", flush=True)
            line = ""
            command = [sys.executable, "-m", "speechiq.cli.main", *words[1:]]
            with subprocess.Popen(
                command,
                env=environment,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN),  # it is meant for submitit
            ) as process:
                self._pid = process.pid
                assert process.stderr is not None, "it is a pipe"
                for line in process.stderr:
                    print(line, end="", file=sys.stderr, flush=True)
            self._pid = None
            if process.returncode:
                raise RuntimeError(line.strip())
            if STOPPED in line:
                if "SLURM_JOB_ID" in os.environ:
                    os.kill(os.getpid(), signal.SIGUSR2)  # submitit puts the job back into the queue
                return "stopped"
        return "finished"

    def checkpoint(self, number: int) -> Any:
        """Let the batch end, and return the same work for the next time."""
        from submitit.helpers import DelayedSubmission

        self._ask_to_end()
        if self._pid is not None:
            with suppress(ChildProcessError):  # what waits for the process in the block above still gets its exit code
                os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        return DelayedSubmission(ShardJob(self.plan, self.devices, self.cores), number)

    def _ask_to_end(self) -> None:
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGTERM)


def import_submitit() -> Any:
    """Return the package submitit."""
    try:
        import submitit
    except ImportError as error:
        raise SpeechIQError("siq launch", missing("submitit")) from error
    return submitit


def read_jobs(output: Path) -> Jobs | None:
    """Return the jobs that were launched in an output folder; None before the first launch."""
    file = output / FOLDER / RECORD
    return load_record(file, Jobs, FIX) if exists(file) else None


def submit(jobs: Jobs, numbers: list[int]) -> None:
    """Submit shards, on Slurm as one array, and record their jobs."""
    folder = jobs.plan.folder / FOLDER
    executor = import_submitit().AutoExecutor(folder, cluster=jobs.on)
    try:
        if jobs.on == "slurm":
            options = {"job_name": "siq", "time": SLURM_MINUTES, **jobs.plan.slurm}
            options["additional_parameters"] = {"requeue": True} | options.get("additional_parameters", {})
            executor.update_parameters(**{f"slurm_{name}": value for name, value in options.items()})
        else:
            executor.update_parameters(timeout_min=LOCAL_MINUTES)
    except (TypeError, ValueError, NameError) as error:
        raise SpeechIQError("slurm:", str(error).splitlines()[0], "name options as submitit does") from error
    ignored = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited: Ctrl-C leaves local jobs running
    try:
        # Shards of one machine share its cores; Slurm gives each of them its own.
        cores = max(1, count_cores() // jobs.plan.shards) if jobs.on == "local" else 0
        started = executor.map_array(ShardJob(jobs.plan, list_devices(jobs, numbers), cores), numbers)
    except (subprocess.SubprocessError, RuntimeError, OSError) as error:
        raise SpeechIQError(
            f"--on {jobs.on}", f"the jobs were refused ({error})", "correct slurm: in the plan"
        ) from error
    finally:
        signal.signal(signal.SIGINT, ignored)
    jobs.ids |= {number: str(job.job_id) for number, job in zip(numbers, started, strict=True)}
    store_record(jobs, folder / RECORD, FIX)


def list_devices(jobs: Jobs, numbers: list[int]) -> dict[int, str]:
    """Return the GPU of each local shard, in turn; none on Slurm, which gives the devices, and without a GPU."""
    if jobs.on == "slurm":
        return {}
    import torch

    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(count)))).split(",")
    return {number: visible[place % len(visible)] for place, number in enumerate(numbers)} if count else {}


class ShardState(msgspec.Struct, frozen=True):
    """Hold how far a shard is: `running`, `finished`, `stopped` or `failed`, and the last line that it printed."""

    state: str
    line: str


def read_state(jobs: Jobs, number: int) -> ShardState:
    """Return how far a shard is, from the files of its job, which are on a disk that all machines share.

    submitit keeps the outcome as a pickle, so the folder of the jobs is one that only trusted people can write to.
    """
    submitit = import_submitit()
    paths = submitit.core.utils.JobPaths(jobs.plan.folder / FOLDER, job_id=jobs.ids[number], task_id=0)
    line = _last_line(paths.stderr)
    if paths.result_pickle.exists():
        outcome, result = submitit.core.utils.pickle_load(paths.result_pickle)
        return ShardState(result if outcome == "success" else "failed", line)
    if _has_died(jobs.on, jobs.ids[number], submitit):
        return ShardState("failed", line or "its job ended without a result")
    return ShardState("running", line or "waiting")


def _has_died(on: str, job: str, submitit: Any) -> bool:
    """Return whether a job without a result has ended."""
    if on == "slurm":
        watcher = submitit.SlurmJob.watcher
        return bool(watcher.is_done(job) and watcher.get_state(job, "cache") != "COMPLETED")
    with suppress(ChildProcessError):
        os.waitpid(int(job), os.WNOHANG)
    try:
        os.kill(int(job), 0)
    except ProcessLookupError:
        return True
    return False


def _last_line(log: Path) -> str:
    """Return the last line of speechiq in a log."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL))
        lines = file.read().decode(errors="replace").splitlines()
    return next((line.removeprefix(ERROR).removeprefix(NOTE) for line in reversed(lines) if line.startswith(NOTE)), "")
