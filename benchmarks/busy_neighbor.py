"""Measure what a transcription takes beside busy processes, with threads that spin, that sleep, and with one thread.

    python benchmarks/busy_neighbor.py [--clips 3] [--neighbors 0 2] [--rounds 2]

Threads of OpenMP spin while they wait, unless `OMP_WAIT_POLICY=PASSIVE` lets them sleep, as a run of this suite does.
A neighbor is a process that computes without a pause; two on two cores are one for each. Every transcription is a
process of its own; its time begins after the model is loaded and one clip is done.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import measure

#: It ends with the benchmark, even if that is killed.
NEIGHBOR = """
import os
parent = os.getppid()
while os.getppid() == parent:
    sum(range(1000))
"""
#: libgomp spins this often before a thread sleeps, if nothing is said.
USUAL_SPINS = "300000"
WAYS = {
    "spinning": {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": USUAL_SPINS},
    "sleeping": {"OMP_WAIT_POLICY": "PASSIVE"},
    "one thread": {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "1"},
}


@contextmanager
def neighbors(count: int) -> Iterator[None]:
    """Keep processes computing inside the block."""
    busy = [subprocess.Popen([sys.executable, "-c", NEIGHBOR]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def work(number: str) -> None:
    """Transcribe some clips in this process, and print in how many seconds."""
    from speechiq.core.clip import file_clip
    from speechiq.engines.base import Setup
    from speechiq.engines.registry import build_engine
    from speechiq.siq_tasks.loaders.bundled import list_clips

    clips = [file_clip(clip) for clip in list_clips()]
    engine = build_engine("asr", measure.ASR, {}, Setup(engine="hf", device="cpu"))
    engine.transcribe(clips[-1:])
    start = time.perf_counter()
    engine.transcribe(clips[: int(number)])
    print(time.perf_counter() - start)


def transcribe(clips: int, environment: dict[str, str]) -> float:
    """Return the seconds in which a process of its own transcribes some clips."""
    child = measure.run_child(measure.calling("busy_neighbor.work", str(clips)), SIQ_STORE="off", **environment)
    return float(child.output.splitlines()[-1])


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=3, help="clips per transcription")
    parser.add_argument("--neighbors", type=int, nargs="+", default=[0, 2], help="busy processes beside it")
    measure.rounds_option(parser, 2)
    args = parser.parse_args()
    measured = {}
    for count in args.neighbors:
        ways = {way: partial(transcribe, args.clips, environment) for way, environment in WAYS.items()}
        with neighbors(count):
            seconds = measure.alternate(ways, args.rounds)
        measured[str(count)] = {
            way: {"seconds": measure.Spread.of(times), "ratio": measure.Spread.ratio(times, seconds["sleeping"])}
            for way, times in seconds.items()
        }
    measure.write("busy_neighbor", {"clips": args.clips, "neighbors": measured})
    print("| busy processes | threads | seconds | ratio to sleeping |\n|---:|---|---:|---:|")
    for count, ways in measured.items():
        for way, numbers in ways.items():
            print(f"| {count} | {way} | {numbers['seconds']} | {numbers['ratio']} |")


if __name__ == "__main__":
    main()
