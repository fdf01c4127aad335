"""Share tools between benchmarks: alternating runs, time and memory of a child process, stages, machine, JSON."""

from __future__ import annotations

import argparse
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
from functools import cache, partial, wraps
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tqdm import tqdm

#: The tests of the benchmarks name tiny models, since they measure nothing.
ASR = os.environ.get("BENCHMARK_ASR", "demo:whisper-tiny.en")
LLM = os.environ.get("BENCHMARK_LLM", "demo:SmolLM2-135M-Instruct")
#: The embedder of the demo is its language model.
METADATA = {"embedder": LLM}
STAGES = ("transcribing", "answering", "embedding")
Result = TypeVar("Result")
ROWS = {"remember": 1, "understand": 1, "apply": 3}
HERE = Path(__file__).parent
#: The tests of the benchmarks name another folder, so that they leave measured numbers alone.
RESULTS = Path(os.environ.get("BENCHMARK_RESULTS", HERE / "results"))
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
    RESULTS.mkdir(parents=True, exist_ok=True)
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


def alternate(ways: Mapping[str, Callable[[], Result]], rounds: int) -> dict[str, list[Result]]:
    """Run each way once per round, and return what it returned each time.

    The first way of a round is the last one of the next, so that drift of the machine cancels.
    """
    results: dict[str, list[Result]] = {name: [] for name in ways}
    turns = [name for number in range(rounds) for name in list(ways)[:: -1 if number % 2 else 1]]
    for name in (bar := tqdm(turns, unit="run")):
        bar.set_description(str(name))
        results[name].append(ways[name]())
    return results


def in_turn(ways: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[Cost]]:
    """Run each way once per round (`alternate`), without its output on stderr, and return its costs."""
    return alternate({name: partial(cost, way) for name, way in ways.items()}, rounds)


def cost(way: Callable[[], Any]) -> Cost:
    """Return the cost of calling a function, child processes included."""
    with redirect_stderr(io.StringIO()):
        before = Cost(time.perf_counter(), sum(os.times()[:4]))
        way()
        after = Cost(time.perf_counter(), sum(os.times()[:4]))
    return Cost(*(later - sooner for later, sooner in zip(after, before, strict=True)))


class Spread(NamedTuple):
    """Hold a number that was measured in several rounds: its median, lowest and highest value.

    >>> str(Spread.of([1.02, 1.1, 1.0]))
    '1.02 (1 to 1.1)'
    """

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of the values of all rounds."""
        return cls(statistics.median(values), min(values), max(values))

    @classmethod
    def ratio(cls, values: Sequence[float], base: Sequence[float]) -> Spread:
        """Return the spread of values relative to those of `base` in the same round; NaN relative to 0."""
        return cls.of([value / unit if unit else math.nan for value, unit in zip(values, base, strict=True)])

    def __str__(self) -> str:
        return f"{self.median:.4g} ({self.low:.4g} to {self.high:.4g})"


def ratio(costs: Sequence[Cost], base: Sequence[Cost]) -> dict[str, Spread]:
    """Return costs relative to those of `base` in the same round, for `wall` and `processor` seconds."""
    pairs = zip(zip(*costs, strict=True), zip(*base, strict=True), strict=True)
    return {kind: Spread.ratio(*pair) for kind, pair in zip(Cost._fields, pairs, strict=True)}


def by_size(rows: Mapping[Any, Sequence[Mapping[str, float]]], relative: Sequence[str]) -> dict[Any, dict[str, Any]]:
    """Return the median of each number of a size, and the spread of some of them relative to the first size.

    Args:
        rows: Size -> its numbers in each round, from `alternate`.
        relative: Names of the numbers that are given relative to the first size as well, as `NAME_relative`.
    """
    first = next(iter(rows.values()))
    return {
        size: {name: statistics.median(row[name] for row in of_size) for name in of_size[0]}
        | {
            f"{name}_relative": Spread.ratio([row[name] for row in of_size], [row[name] for row in first])
            for name in relative
        }
        for size, of_size in rows.items()
    }


def rounds_option(parser: argparse.ArgumentParser, default: int) -> None:
    """Add the option `--rounds`."""
    parser.add_argument("--rounds", type=int, default=default, help="how often each way or size is measured")


def run_suite(
    clips: int, settings: Mapping[str, Any] | None = None, device: str = "cpu", **options: Any
) -> dict[str, Any]:
    """Run `hf-audio` by lm-eval in this process, on the first clips of the demo and all their questions.

    Results of earlier runs, in memory or in the response cache, are not used.

    Args:
        clips: number of clips.
        settings: generation settings.
        device: device of the models.
        **options: options of the system, which is the demo's cascade.

    Returns:
        The results of `lm_eval.simple_evaluate`, with the samples.
    """
    from lm_eval import simple_evaluate

    from speechiq.metrics.models import forget_models

    os.environ["SIQ_STORE"] = "off"
    forget_models()
    return simple_evaluate(
        model="hf-audio",
        model_args={"pretrained": f"{ASR}+{LLM}", **options},
        tasks=["siq_demo"],
        task_manager=tasks(),
        metadata=METADATA,
        samples={f"siq_demo_{level}": list(range(a_clip * clips)) for level, a_clip in ROWS.items()},
        gen_kwargs=dict(settings or {}),
        batch_size="auto",
        device=device,
    )


@cache
def tasks() -> Any:
    """Return the suite's tasks, without those of lm-eval itself."""
    from lm_eval.tasks import TaskManager

    return TaskManager(include_defaults=False, metadata=METADATA)


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
    program = f"import sys; sys.path.insert(0, {str(HERE)!r}); import {module}; {function}(*sys.argv[1:])"
    return [sys.executable, "-c", program, *arguments]
