"""Each benchmark runs to its end at its smallest size, and writes its numbers."""

import json
import multiprocessing
import os
import runpy
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from tests.reducer.browser import CHROMIUM
from tests.warm import python, run_warm

FOLDER = Path(__file__).parents[2] / "benchmarks"
SMALLEST = {
    "busy_neighbor": ("--clips", "1", "--neighbors", "1", "--rounds", "1"),
    "commands": ("--systems", "3", "4", "--clips", "10"),
    "coverage": ("--clips", "5", "--sets", "2", "--draws", "20", "--populations", "like"),
    "coverage_clusters": ("--clusters", "3", "--icc", "0.1", "--sets", "2", "--draws", "40"),
    "decoding": ("--clips", "2", "--joined", "2"),
    "devices": ("--clips", "1", "--rounds", "1", "--devices", "cpu", "cpu"),
    "forked": ("--systems", "1", "--limit", "1", "--rounds", "1"),
    "group_gaps": ("--sets", "1", "--draws", "40"),
    "growth": ("--clips", "1", "--times", "1"),
    "hand_overs": (),
    "latency": ("--answers", "8", "--at-once", "1"),
    "listening": ("--sets", "3", "--clusters", "6"),
    "long_form": ("--minutes", "0.1"),
    "proportions": ("--sets", "3"),
    "prepare_subset": ("--clips", "2", "4", "--rounds", "1"),
    "recognizers": ("--clips", "1", "--rounds", "1"),
    "report_size": ("--systems", "3", "--clips", "4", "5", "--browser", str(CHROMIUM)),
    "resume": ("--rounds", "1", "--limit", "1"),
    "sample_size": ("--sets", "2", "--pilots", "2", "--shifts", "0.8"),
    "score_scale": ("--systems", "3", "--clips", "5", "10", "--draws", "50", "--rounds", "1"),
    "shards": ("--limit", "1"),
    "site_size": ("--systems", "3", "--clips", "4", "--browser", str(CHROMIUM)),
    "stage_memory": ("--clips", "1"),
    "startup": ("--starts", "1", "--lists", "0"),
    "suite_vs_limit": ("--clips", "1", "--rounds", "1"),
    "suite_vs_request_at_a_time": ("--clips", "1"),
}
#: What the benchmarks share, and one whose file of answers a test of the rule has.
OTHERS = {"answer_rules", "measure", "planted", "populations"}


def script_of(name: str) -> str:
    """Return the name of the script behind a name of `SMALLEST`."""
    return name.removesuffix("_clusters")


def test_every_benchmark_is_run_here():
    assert {file.stem for file in FOLDER.glob("*.py")} == {*map(script_of, SMALLEST)} | OTHERS


def environment(tiny_cascade):
    return os.environ | {"BENCHMARK_ASR": tiny_cascade.asr, "BENCHMARK_LLM": tiny_cascade.llm}


def run_child(measure, run, command, **environment):
    """Run the command of a benchmark, one of Python in a fork of this process; its time and memory say nothing."""
    if command[0] != sys.executable:
        return run(command, **environment)
    start, settings = time.perf_counter(), os.environ | measure.QUIET | environment
    done = run_warm(python, *command[1:], env=settings, forks=multiprocessing.get_context("fork"))
    if done.returncode:
        raise RuntimeError(done.stderr)
    return measure.Child(time.perf_counter() - start, 1.0, done.stdout)


def benchmark():
    """Enter the benchmark that the first argument names, as an interpreter does; its children import nothing anew."""
    sys.argv = [str(FOLDER / f"{sys.argv[1]}.py"), *sys.argv[2:]]
    sys.path.insert(0, str(FOLDER))
    measure = import_module("measure")
    measure.run_child = partial(run_child, measure, measure.run_child)
    runpy.run_path(sys.argv[0], run_name="__main__")


@pytest.mark.checks
@pytest.mark.parametrize("name", SMALLEST)
def test_runs_at_its_smallest_size(name, tiny_cascade, tmp_path):
    settings = environment(tiny_cascade) | {"BENCHMARK_RESULTS": str(tmp_path)}
    done = run_warm(benchmark, script_of(name), *SMALLEST[name], env=settings)
    assert done.returncode == 0, done.stderr[-3000:]
    (written,) = tmp_path.glob("*.json")
    assert {"benchmark", "machine", "versions"} <= json.loads(written.read_text()).keys()
