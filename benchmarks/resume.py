"""What a rerun costs when everything is stored, and whether runs that are killed end as if they had not been.

    python benchmarks/resume.py [--reruns 3] [--limit N]
    python benchmarks/resume.py --kills 20 [--seed 0] [--limit N]

The demo's cascade through lm-eval's own command line, with a response store of its own. Start-up is all but lm-eval's
`evaluate`: imports, the index of tasks, reading the sets. The aim is that a rerun evaluates in at most 0.05 of the
first run's time.

With `--kills`, runs get a kill -9 at a moment drawn from the length of an undisturbed run, and the same command is
given again until it ends; then a new store, until there were as many kills as asked for. The samples must be those of
the undisturbed run to the byte, and a kill may cost no more than the batch that was under way.
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
from typing import NamedTuple

import measure
from tqdm import tqdm

AIM = 0.05


class Place(NamedTuple):
    """A store, where results go, and the journal of batches."""

    store: Path
    output: Path
    journal: Path

    @classmethod
    def below(cls, folder: Path) -> Place:
        return cls(folder / "store", folder / "output", folder / "journal")

    def samples(self) -> dict[str, bytes]:
        """The sample files, by task; their names alone hold a time."""
        files = self.output.rglob("samples_*.jsonl")
        return {re.match(r"samples_(.+)_\d{4}-", file.name)[1]: file.read_bytes() for file in files}

    def begun(self) -> int:
        """How many batches were begun."""
        lines = self.journal.read_text().splitlines() if self.journal.is_file() else []
        return sum(line.startswith("batch ") for line in lines)


def evaluate(journal: str, *arguments: str) -> None:
    """lm-eval's command line; the journal gets a line for each batch that is begun, and the seconds of evaluation."""
    from lm_eval import evaluator
    from lm_eval.__main__ import cli_evaluate

    from speechiq.engines.asr import recognizer as recognizer
    from speechiq.engines.text import hf as transformers_llm
    from speechiq.metrics import embedder

    with Path(journal).open("a", buffering=1) as lines:

        def note(stage: str, batch: Sequence) -> Sequence:
            lines.write(f"batch {stage} {len(batch)}\n")
            return batch

        def noting(stage: str, run_in_batches: Callable) -> Callable:
            def run(items, work, **settings):
                return run_in_batches(items, lambda batch: work(note(stage, batch)), **settings)

            return run

        for stage, module in (("recognizer", recognizer), ("answerer", transformers_llm), ("embedder", embedder)):
            module.run_in_batches = noting(stage, module.run_in_batches)
        sys.argv = ["lm_eval", *arguments]
        with measure.Clock({"evaluating": (evaluator, "evaluate")}) as clock:
            cli_evaluate()
        lines.write(f"seconds {clock.mean('evaluating', 1)}\n")


def command(place: Place, limit: str) -> list[str]:
    """lm-eval as a user runs it, but for the journal."""
    return measure.calling(
        "resume.evaluate", str(place.journal),
        "--model", "hf-audio", "--model_args", f"pretrained={measure.ASR}+{measure.LLM},llm_answer=likelihood",
        "--tasks", "siq_demo", "--batch_size", "auto", "--device", "cpu", "--log_samples",
        "--output_path", str(place.output), *(["--limit", limit] if limit else []),
    )  # fmt: skip


def run(place: Place, limit: str) -> dict[str, float]:
    """A run to its end: seconds of evaluation, of start-up, and of all."""
    whole = measure.run_child(command(place, limit), SIQ_STORE=str(place.store)).seconds
    evaluating = float(place.journal.read_text().splitlines()[-1].split()[1])
    return {"evaluation": evaluating, "start-up": whole - evaluating, "all": whole}


def run_until(place: Place, limit: str, moment: float) -> bool:
    """A run that is killed at `moment` (s), unless it has ended before; whether it has."""
    environment = {**os.environ, **measure.QUIET, "SIQ_STORE": str(place.store)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command(place, limit), env=environment, start_new_session=True, **quiet)
    try:
        if code := process.wait(moment):
            raise RuntimeError(f"{shlex.join(command(place, limit))} ended with {code}")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False
    return True


def compare_rerun(folder: Path, limit: str, reruns: int) -> None:
    """First run and reruns."""
    place = Place.below(folder)
    first = run(place, limit)
    again = [run(place, limit) for _ in tqdm(range(reruns), desc="reruns")]
    rerun = {part: statistics.median(row[part] for row in again) for part in first}
    print("seconds       first run     rerun     ratio")
    for part, seconds in first.items():
        print(f"{part:12} {seconds:10.2f} {rerun[part]:9.2f} {rerun[part] / seconds:9.3f}")
    print(f"aim for the evaluation: {AIM}")
    measure.write("resume", {"aim": AIM, "first": first, "rerun": rerun})


def compare_killed(folder: Path, limit: str, kills: int, seed: int) -> None:
    """An undisturbed run, and killed ones until there were enough kills.

    Raises:
        SystemExit: other samples, or more work done twice than kills explain.
    """
    undisturbed, chance = Place.below(folder / "undisturbed"), random.Random(seed)
    undisturbed.journal.parent.mkdir()
    length = run(undisturbed, limit)["all"]
    expected, batches = undisturbed.samples(), undisturbed.begun()
    trials = []
    with tqdm(total=kills, unit="kill") as bar:
        while bar.n < kills:
            place, moments, ended = Place.below(folder / f"{len(trials)}"), [], False
            place.journal.parent.mkdir()
            while not ended:
                moment = chance.uniform(0, length) if bar.n < kills else math.inf
                ended = run_until(place, limit, moment)
                if not ended:
                    moments.append(moment)
                    bar.update()
            twice = place.begun() - batches
            trials.append({"kills": moments, "batches_twice": twice, "same": place.samples() == expected})
    same, twice = all(trial["same"] for trial in trials), sum(trial["batches_twice"] for trial in trials)
    print(f"{kills} kills in {len(trials)} runs of {length:.0f} s and {batches} batches each, undisturbed")
    print(f"samples: {'the same to the byte' if same else 'NOT the same'}; batches done twice: {twice}")
    measure.write("resume_killed", {"seconds": length, "batches": batches, "trials": trials})
    if not same or any(trial["batches_twice"] > len(trial["kills"]) for trial in trials):
        sys.exit(1)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reruns", type=int, default=3)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--limit", default="", help="docs a task; by default all")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if told.kills:
            compare_killed(Path(folder), told.limit, told.kills, told.seed)
        else:
            compare_rerun(Path(folder), told.limit, told.reruns)


if __name__ == "__main__":
    main()
