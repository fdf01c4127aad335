"""Compare shards with one process, and check that killed, repeated and missing shards end in the same rows.

    python benchmarks/shards.py [--limit N]
    python benchmarks/shards.py --kills 10 [--seed 0] [--limit N]

The runs are of the demo's cascade, by `siq eval`, each with a response cache of its own. Compared are one process, two
shards at once that share the cores, as those of `siq launch --on local` do, two that take all cores each, the run that
collects the first two, and both of them again, one after the other, which find all rows: what a shard costs beside its
rows, start-up included.

With `--kills`, four shards get a kill -9 at random moments within the length of an undisturbed shard. Then each runs to
its end, one of them twice and one not at all; the run that collects them computes the rest. Its samples must be those
of one process, byte by byte.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import measure
from tqdm import tqdm

from speechiq.core.batches import count_cores

SHARDS = 4


class Evaluation:
    """An evaluation with an output folder and a response cache of its own."""

    def __init__(self, folder: Path, limit: str, threads: int | None = None) -> None:
        self.output, self.store, self.limit = folder / "output", folder / "store", limit
        self.threads = {"OMP_NUM_THREADS": str(threads)} if threads else {}

    def start(self, *options: str) -> subprocess.Popen:
        """Start `siq eval` in a group of its own."""
        command = [
            sys.executable, "-m", "speechiq.cli.main", "eval", f"{measure.ASR}+{measure.LLM},llm_answer=likelihood",
            "--tasks", "siq_demo", "--metadata", f"embedder={measure.LLM}", "--device", "cpu",
            "-o", str(self.output), *(["--limit", self.limit] if self.limit else []), *options,
        ]  # fmt: skip
        environment = {**os.environ, **measure.QUIET, **self.threads, "SIQ_STORE": str(self.store)}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, env=environment, start_new_session=True, **quiet)

    def run(self, *options: str) -> None:
        """Run `siq eval` to its end."""
        wait(self.start(*options))

    def samples(self) -> dict[str, bytes]:
        """Return the contents of the sample files, by task; only their names contain a time."""
        files = self.output.rglob("samples_*.jsonl")
        return {re.match(r"samples_(.+)_\d{4}-", file.name)[1]: file.read_bytes() for file in files}


def wait(*processes: subprocess.Popen) -> None:
    """Wait for processes, which must succeed."""
    codes = [process.wait() for process in processes]
    if any(codes):
        raise RuntimeError(f"a command failed: {processes[0].args}")


def compare(folder: Path, limit: str) -> None:
    """Measure one process, two shards at once in two ways, both again, and the run that collects them."""
    single, greedy = Evaluation(folder / "single", limit), Evaluation(folder / "greedy", limit)
    split = Evaluation(folder / "split", limit, threads=max(1, count_cores() // 2))
    halves = [("--shard", f"{number}/2") for number in (1, 2)]
    costs = {
        "one process": measure.cost(single.run),
        "two shards at once": measure.cost(lambda: wait(*[split.start(*half) for half in halves])),
        "two, all cores each": measure.cost(lambda: wait(*[greedy.start(*half) for half in halves])),
        "both again, in turn": measure.cost(lambda: [split.run(*half) for half in halves]),
        "collecting run": measure.cost(lambda: split.run("--require-cached")),
    }
    same = split.samples() == single.samples()
    show(costs)
    clips = len(single.samples()["siq_demo_remember"].splitlines())
    overhead = (costs["two shards at once"].processor - costs["one process"].processor) / clips
    print(f"overhead of two shards: {overhead:.2f} processor seconds per clip, of {clips} clips")
    print(f"samples: {'identical' if same else 'NOT identical'}")
    measure.write(
        "shards", {"seconds": {name: cost._asdict() for name, cost in costs.items()}, "clips": clips, "same": same}
    )
    if not same:
        sys.exit(1)


def show(costs: Mapping[str, measure.Cost]) -> None:
    """Print a line per way."""
    print("seconds                 wall  processor")
    for name, cost in costs.items():
        print(f"{name:20} {cost.wall:7.1f} {cost.processor:10.1f}")


def compare_killed(folder: Path, limit: str, kills: int, seed: int) -> None:
    """Compare killed, repeated and missing shards with one process."""
    single, split, chance = (
        Evaluation(folder / "single", limit),
        Evaluation(folder / "split", limit),
        random.Random(seed),
    )
    length = measure.cost(single.run).wall
    moments, trials = [], 0
    with tqdm(total=kills, unit="kill") as bar:
        while bar.n < kills:
            process = split.start("--shard", f"{trials % (SHARDS - 1) + 1}/{SHARDS}")
            moment, trials = chance.uniform(0, length), trials + 1
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                moments.append(moment)
                bar.update()
    for number in (1, 2, 3, 3):
        split.run("--shard", f"{number}/{SHARDS}")
    split.run()
    same = split.samples() == single.samples()
    print(f"{kills} kills in {trials} runs of shards, one shard twice, one missing")
    print(f"samples: {'identical' if same else 'NOT identical'}")
    measure.write("shards_killed", {"seconds": length, "kills": moments, "same": same})
    if not same:
        sys.exit(1)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0, help="seed of the random moments")
    parser.add_argument("--limit", default="", help="clips; by default all")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.kills:
            compare_killed(Path(folder), args.limit, args.kills, args.seed)
        else:
            compare(Path(folder), args.limit)


if __name__ == "__main__":
    main()
