"""Share tools between benchmarks: alternating runs, time and memory of a child process, stages, machine, JSON."""

from __future__ import annotations

import io
import json
import math
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, redirect_stderr
from functools import cache, wraps
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

ASR, LLM = "demo:whisper-tiny.en", "demo:SmolLM2-135M-Instruct"
STAGES = ("transcribing", "answering", "embedding")
ROWS = {"remember": 1, "understand": 1, "apply": 3}
RESULTS = Path(__file__).with_name("results")
PACKAGES = ("speechiq", "lm_eval", "transformers", "torch", "accelerate", "datasets", "numpy")
QUIET = {
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_OFFLINE": "1",
    "LMEVAL_LOG_LEVEL": "ERROR",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}


def write(name: str, measured: Mapping[str, Any]) -> None:
    """Write the numbers into `results/<name>.json`, with the machine and the versions of packages."""
    about = {"machine": machine(), "versions": versions()}
    content = {"benchmark": name, "date": time.strftime("%Y-%m-%d"), **about, **measured}
    RESULTS.mkdir(exist_ok=True)
    RESULTS.joinpath(f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")
    print(*(f"{key} {value}" for part in about.values() for key, value in part.items()), sep=", ", end="\n\n")


def machine() -> dict[str, Any]:
    """Return processor, usable cores, threads of torch if it is imported, memory (GB), load of the last minute."""
    cpuinfo = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").is_file() else ""
    names = [line.partition(":")[2].strip() for line in cpuinfo.splitlines() if line.startswith("model name")]
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    torch = sys.modules.get("torch")
    return {
        "processor": (names or [platform.machine()])[0],
        "cores": len(os.sched_getaffinity(0)),
        **({"threads": torch.get_num_threads()} if torch else {}),
        "memory_gb": round(pages / 2**30),
        "load": round(os.getloadavg()[0], 1),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that do the work."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


class Cost(NamedTuple):
    """The cost of a run: wall seconds, and processor seconds, which depend less on other programs on the machine."""

    wall: float
    processor: float


def in_turn(ways: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[Cost]]:
    """Run each way `rounds` times; the first one of a round is the last one of the next, so that drift cancels."""
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    turns = [name for number in range(rounds) for name in list(ways)[:: -1 if number % 2 else 1]]
    for name in (bar := tqdm(turns, unit="run")):
        bar.set_description(name)
        with redirect_stderr(io.StringIO()):
            before = Cost(time.perf_counter(), sum(os.times()[:4]))
            ways[name]()
            after = Cost(time.perf_counter(), sum(os.times()[:4]))
        costs[name].append(Cost(*(later - sooner for later, sooner in zip(after, before, strict=True))))
    return costs


def ratio(costs: Sequence[Cost], base: Sequence[Cost]) -> Cost:
    """Return the medians of the costs relative to those of `base` in the same round."""
    rounds = zip(costs, base, strict=True)
    shares = [[cost / unit if unit else math.nan for cost, unit in zip(*pair, strict=True)] for pair in rounds]
    return Cost(*map(statistics.median, zip(*shares, strict=True)))


def median(costs: Sequence[Cost]) -> Cost:
    """Return the medians of wall seconds and of processor seconds."""
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def run_suite(clips: int, settings: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """Run `hf-audio` by lm-eval in this process, on the first clips of the demo and all their questions.

    Results of earlier runs, in memory or in the response cache, are not used.

    Args:
        clips: number of clips.
        settings: generation settings.
        **options: options of the system, which is the demo's cascade.

    Returns:
        The results of `lm_eval.simple_evaluate`, with the samples.
    """
    from lm_eval import simple_evaluate

    from speechiq.metrics import embedder

    os.environ["SIQ_STORE"] = "off"
    embedder.load_embedder.cache_clear()
    embedder._stage_cache.cache_clear()
    return simple_evaluate(
        model="hf-audio",
        model_args={"pretrained": f"{ASR}+{LLM}", **options},
        tasks=["siq_demo"],
        task_manager=tasks(),
        samples={f"siq_demo_{level}": list(range(a_clip * clips)) for level, a_clip in ROWS.items()},
        gen_kwargs=dict(settings or {}),
        batch_size="auto",
        device="cpu",
    )


@cache
def tasks() -> Any:
    """Return the suite's tasks, without those of lm-eval itself."""
    from lm_eval.tasks import TaskManager

    return TaskManager(include_defaults=False)


class Clock(AbstractContextManager):
    """Measure the time per stage: inside the block, calls of some functions are timed.

    Args:
        stages: stage -> the module or class that has its function, and the name of the function.

    Attributes:
        seconds: per stage the seconds of each call.
        results: per stage the result of the last call.
    """

    def __init__(self, stages: Mapping[str, tuple[Any, str]]) -> None:
        self.stages = {stage: (owner, name, getattr(owner, name)) for stage, (owner, name) in stages.items()}
        self.seconds: dict[str, list[float]] = {stage: [] for stage in stages}
        self.results: dict[str, Any] = {}

    def __enter__(self) -> Clock:
        for stage, (owner, name, function) in self.stages.items():
            setattr(owner, name, self._clocked(stage, function))
        return self

    def __exit__(self, *_: object) -> None:
        for owner, name, function in self.stages.values():
            setattr(owner, name, function)

    def _clocked(self, stage: str, function: Callable) -> Callable:
        @wraps(function)
        def clocked(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            self.results[stage] = function(*args, **kwargs)
            self.seconds[stage].append(time.perf_counter() - start)
            return self.results[stage]

        return clocked

    def mean(self, stage: str, rounds: int) -> float:
        """Return the mean seconds per round."""
        return sum(self.seconds[stage]) / rounds


def by_stage(clocks: Mapping[str, Clock], costs: Mapping[str, Sequence[Cost]]) -> dict[str, dict[str, float]]:
    """Return the mean seconds of each stage, of the rest, and of all, by way."""
    table: dict[str, dict[str, float]] = {}
    for way, clock in clocks.items():
        rounds, total = len(costs[way]), statistics.mean(cost.wall for cost in costs[way])
        stages = {stage: clock.mean(stage, rounds) for stage in clock.stages}
        for stage, seconds in {**stages, "the rest": total - sum(stages.values()), "all": total}.items():
            table.setdefault(stage, {})[way] = seconds
    return table


class Child(NamedTuple):
    """A process that has ended: wall seconds, peak memory (MB), and its output on stdout."""

    seconds: float
    peak_mb: float
    output: str


def run_child(command: Sequence[str], **environment: str) -> Child:
    """Run a process to its end without output.

    The caller must be small, because on Linux the peak memory of a child begins at that of its parent.

    Raises:
        RuntimeError: the process failed; with its output on stderr.
    """
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            command, env={**os.environ, **QUIET, **environment}, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        with child.stdout:
            output = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            errors.seek(0)
            raise RuntimeError(f"{shlex.join(command)} ended with {child.returncode}:\n{errors.read()}")
    return Child(seconds, used.ru_maxrss / 1024, output)


def calling(function: str, *arguments: str) -> list[str]:
    """Return the command that calls a function of a benchmark, such as `growth.evaluate`, in a new process."""
    module = function.partition(".")[0]
    program = f"import sys; sys.path.insert(0, {str(RESULTS.parent)!r}); import {module}; {function}(*sys.argv[1:])"
    return [sys.executable, "-c", program, *arguments]
