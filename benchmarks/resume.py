"""Measure the cost of a rerun with a full response cache, and check that killed runs end like undisturbed ones.

    python benchmarks/resume.py [--rounds 2] [--limit N]
    python benchmarks/resume.py --kills 20 [--seed 0] [--limit N]

The runs are of the demo's cascade, by lm-eval's own command line, with a response cache of their own. Start-up is
everything except lm-eval's `evaluate`: imports, the index of tasks, reading the sets. The aim is that a rerun evaluates
in at most 0.05 of the first run's time.

With `--kills`, runs get a kill -9 at a random moment within the length of an undisturbed run, and the same command is
repeated until it ends; then a new cache is used, until the number of kills is complete. The samples must be identical
to those of the undisturbed run, byte by byte, and a kill may cost no more than the batch in progress.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import measure
from tqdm import tqdm

AIM = 0.05


class Folders(NamedTuple):
    """The response cache, the output folder and the journal of batches of a run."""

    store: Path
    output: Path
    journal: Path

    @classmethod
    def below(cls, folder: Path) -> Folders:
        """Return the folders of a run below one folder."""
        return cls(folder / "store", folder / "output", folder / "journal")

    def samples(self) -> dict[str, bytes]:
        """Return the contents of the sample files, by task; only their names contain a time."""
        files = self.output.rglob("samples_*.jsonl")
        return {re.match(r"samples_(.+)_\d{4}-", file.name)[1]: file.read_bytes() for file in files}

    def begun(self) -> int:
        """Return how many batches were begun."""
        lines = self.journal.read_text().splitlines() if self.journal.is_file() else []
        return sum(line.startswith("batch ") for line in lines)


def evaluate(journal: str, *arguments: str) -> None:
    """Run lm-eval's command line; write a line per batch and the seconds of the evaluation into the journal."""
    from lm_eval import evaluator
    from lm_eval.__main__ import cli_evaluate

    from speechiq.engines._shared import checkpoint_writer
    from speechiq.engines.asr import checkpoint as recognizer
    from speechiq.metrics import models

    with Path(journal).open("a", buffering=1) as lines:

        def note(stage: str, batch: Sequence) -> Sequence:
            lines.write(f"batch {stage} {len(batch)}\n")
            return batch

        def noting(stage: str, run_in_batches: Callable) -> Callable:
            def run(items: Sequence, work: Callable, **settings: Any) -> list:
                return run_in_batches(items, lambda batch, advance: work(note(stage, batch), advance), **settings)

            return run

        for stage, module in (("recognizer", recognizer), ("answerer", checkpoint_writer), ("embedder", models)):
            module.run_in_batches = noting(stage, module.run_in_batches)
        sys.argv = ["lm_eval", *arguments]
        with measure.Clock({"evaluating": (evaluator, "evaluate")}) as clock:
            cli_evaluate()
        lines.write(f"seconds {clock.mean('evaluating', 1)}\n")


def command(folders: Folders, limit: str) -> list[str]:
    """Return the command of a user, extended by the journal."""
    return measure.calling(
        "resume.evaluate", str(folders.journal),
        "--model", "hf-audio", "--model_args", f"pretrained={measure.ASR}+{measure.LLM},llm_answer=likelihood",
        "--tasks", "siq_demo", "--metadata", f"embedder={measure.LLM}", "--batch_size", "auto", "--device", "cpu",
        "--log_samples", "--output_path", str(folders.output), *(["--limit", limit] if limit else []),
    )  # fmt: skip


def run(folders: Folders, limit: str) -> dict[str, float]:
    """Run to the end; return the seconds of evaluation, of start-up, and of all."""
    total = measure.run_child(command(folders, limit), SIQ_STORE=str(folders.store)).seconds
    evaluating = float(folders.journal.read_text().splitlines()[-1].split()[1])
    return {"evaluation": evaluating, "start-up": total - evaluating, "all": total}


def run_until(folders: Folders, limit: str, moment: float) -> bool:
    """Run and kill at `moment` (s); return whether the run ended before."""
    environment = {**os.environ, **measure.QUIET, "SIQ_STORE": str(folders.store)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command(folders, limit), env=environment, start_new_session=True, **quiet)
    try:
        if code := process.wait(moment):
            raise RuntimeError(f"{shlex.join(command(folders, limit))} ended with {code}")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False
    return True


def compare_rerun(folder: Path, limit: str, rounds: int) -> None:
    """Compare a run with an empty cache and a rerun, once per round."""
    found: dict[str, list[dict[str, float]]] = {"first": [], "rerun": []}
    for number in tqdm(range(rounds), desc="rounds"):
        folders = Folders.below(folder / f"{number}")
        folders.journal.parent.mkdir()
        for of_run in found.values():
            of_run.append(run(folders, limit))
    print("seconds       first run     rerun   ratio")
    ratios = {}
    for part in found["first"][0]:
        first, rerun = ([row[part] for row in found[name]] for name in found)
        ratios[part] = measure.Spread.ratio(rerun, first)
        print(f"{part:12} {statistics.median(first):10.2f} {statistics.median(rerun):9.2f}   {ratios[part]}")
    print(f"aim for the evaluation: {AIM}")
    measure.write("resume", {"aim": AIM, **found, "ratio": ratios})


def compare_killed(folder: Path, limit: str, kills: int, seed: int) -> None:
    """Compare killed runs with an undisturbed one, until there were enough kills.

    Raises:
        SystemExit: different samples, or more repeated batches than kills.
    """
    undisturbed, chance = Folders.below(folder / "undisturbed"), random.Random(seed)
    undisturbed.journal.parent.mkdir()
    length = run(undisturbed, limit)["all"]
    expected, batches = undisturbed.samples(), undisturbed.begun()
    trials = []
    with tqdm(total=kills, unit="kill") as bar:
        while bar.n < kills:
            folders, moments, ended = Folders.below(folder / f"{len(trials)}"), [], False
            folders.journal.parent.mkdir()
            while not ended:
                moment = chance.uniform(0, length) if bar.n < kills else math.inf
                ended = run_until(folders, limit, moment)
                if not ended:
                    moments.append(moment)
                    bar.update()
            repeated = folders.begun() - batches
            trials.append({"kills": moments, "batches_twice": repeated, "same": folders.samples() == expected})
    same, repeated = all(trial["same"] for trial in trials), sum(trial["batches_twice"] for trial in trials)
    print(f"{kills} kills in {len(trials)} runs of {length:.0f} s and {batches} batches each, undisturbed")
    print(f"samples: {'identical' if same else 'NOT identical'}; repeated batches: {repeated}")
    measure.write("resume_killed", {"seconds": length, "batches": batches, "trials": trials})
    if not same or any(trial["batches_twice"] > len(trial["kills"]) for trial in trials):
        sys.exit(1)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure.rounds_option(parser, 2)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0, help="seed of the random moments")
    parser.add_argument("--limit", default="", help="docs per task; by default all")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.kills:
            compare_killed(Path(folder), args.limit, args.kills, args.seed)
        else:
            compare_rerun(Path(folder), args.limit, args.rounds)


if __name__ == "__main__":
    main()
