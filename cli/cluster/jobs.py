"""Run the shards of a plan as jobs of submitit, and read how far each is."""

import fcntl
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
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
#: Width of the number of a process in the file of a lock.
PID_WIDTH = 20


class Jobs(msgspec.Struct):
    """Record what was launched: the plan, by which executor, and the job of each shard, from number 1 on."""

    plan: PlanFile
    on: str
    ids: dict[int, str] = {}


class ShardJob:
    """Run one shard; submitit pickles it, and calls `checkpoint` before the machine is taken away or time is over."""

    def __init__(self, plan: PlanFile, on: str, devices: Mapping[int, str]) -> None:
        self.plan, self.on, self.devices = plan, on, devices
        self._pid: int | None = None

    def __call__(self, number: int) -> str:
        """Run the commands of a shard; after SIGTERM, end with the batch, and on Slurm return to the queue."""
        environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
        lock = None
        if self.on == "local":
            # Shards of one machine share its cores; Slurm gives each of them its own.
            environment.setdefault("OMP_NUM_THREADS", str(max(1, count_cores() // self.plan.shards)))
            lock = take_lock(lock_file(self.plan, number))
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
                pass_fds=() if lock is None else (lock,),
                preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN),  # it is meant for submitit
            ) as process:
                self._pid = process.pid
                if lock is not None:
                    os.pwrite(lock, f"{process.pid:<{PID_WIDTH}}".encode(), 0)
                assert process.stderr is not None, "it is a pipe"
                for line in process.stderr:
                    print(line, end="", file=sys.stderr, flush=True)
            self._pid = None
            if process.returncode:
                raise RuntimeError(line.strip())
            if STOPPED in line:
                if self.on == "slurm":
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
        lock_file(self.plan, number).unlink(missing_ok=True)  # it has not begun again
        return DelayedSubmission(ShardJob(self.plan, self.on, self.devices), number)

    def _ask_to_end(self) -> None:
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGTERM)


def lock_file(plan: PlanFile, number: int) -> Path:
    """Name the file that a local shard locks when it begins, and that says which process computes it."""
    return plan.folder / FOLDER / f"{number}.lock"


def take_lock(file: Path) -> int | None:
    """Lock a file until this process has ended, and all that inherit the descriptor; wait for others that have it.

    The kernel unlocks it, however they end. On a disk without locks there is no descriptor, and no file.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        file.unlink()
        return None
    return descriptor


def is_locked(file: Path) -> bool | None:
    """Tell whether a process holds the lock of a file; None if there is no such file, or no locks on its disk."""
    try:
        with file.open("rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


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
    for file in (lock_file(jobs.plan, number) for number in numbers):
        if not is_locked(file):
            file.unlink(missing_ok=True)
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
        started = executor.map_array(ShardJob(jobs.plan, jobs.on, list_devices(jobs, numbers)), numbers)
    except (subprocess.SubprocessError, RuntimeError, OSError) as error:
        raise SpeechIQError(
            f"--on {jobs.on}", f"the jobs were refused ({error})", "correct slurm: in the plan"
        ) from error
    finally:
        signal.signal(signal.SIGINT, ignored)
    jobs.ids |= {number: str(job.job_id) for number, job in zip(numbers, started, strict=True)}
    for job in started if jobs.on == "local" else ():
        job.paths.result_pickle.unlink(missing_ok=True)  # of an older process with the same number
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
    locked = is_locked(lock_file(jobs.plan, number)) if jobs.on == "local" else None
    if not locked and paths.result_pickle.exists():
        outcome, result = submitit.core.utils.pickle_load(paths.result_pickle)
        return ShardState(result if outcome == "success" else "failed", line)
    if locked is False or (locked is None and _has_died(jobs.on, jobs.ids[number], submitit)):
        return ShardState("failed", line or "its job ended without a result")
    return ShardState("running", line or "waiting")


def _has_died(on: str, job: str, submitit: Any) -> bool:
    """Tell whether a job has ended that has no result, and locally no lock yet."""
    if on == "slurm":
        watcher = submitit.SlurmJob.watcher
        return bool(watcher.is_done(job) and watcher.get_state(job, "cache") != "COMPLETED")
    with suppress(ChildProcessError):
        os.waitpid(int(job), os.WNOHANG)
    try:
        os.kill(int(job), 0)
    except (ProcessLookupError, PermissionError):  # the number may be that of a stranger's process now
        return True
    return False


def write_end(jobs: Jobs, numbers: Iterable[int]) -> str:
    """Write the command that ends some shards: after their present batch, if they run here."""
    if jobs.on == "slurm":
        return " ".join(["scancel", *dict.fromkeys(jobs.ids[number].partition("_")[0] for number in numbers)])
    return " ".join(["kill", *(_find_process(jobs, number) for number in numbers)])


def _find_process(jobs: Jobs, number: int) -> str:
    """Name the process that computes a local shard; before it has begun, its job."""
    file = lock_file(jobs.plan, number)
    return (file.read_text().strip() if is_locked(file) else "") or jobs.ids[number]


def _last_line(log: Path) -> str:
    """Return the last line of speechiq in a log."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL))
        lines = file.read().decode(errors="replace").splitlines()
    return next((line.removeprefix(ERROR).removeprefix(NOTE) for line in reversed(lines) if line.startswith(NOTE)), "")
