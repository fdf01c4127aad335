"""Run folders of lm-eval, and the commands that read them."""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path
from typing import Any

from speechiq.metrics.choice import vote
from tests.fuzz.judge import run_siq
from tests.fuzz.targets.target import Command, Target
from tests.records import change_rows
from tests.reducer.conftest import levels, write_run

SKILLS = {"good": 0.9, "fair": 0.6, "bad": 0.3}
VERDICTS = ("unanswerable", "answerable")
MISMATCH = "--allow-mismatch"
LOOSE = ([MISMATCH], [MISMATCH], [MISMATCH, MISMATCH], ["--metrics", "remember=cer"])


def prepare(folder: Path) -> list[Path]:
    """Write the runs of three systems, the third of them twice, and a set of questions that were reviewed."""
    for number, (name, skill) in enumerate(SKILLS.items()):
        _write(folder / "runs" / name, name, skill, float(number))
    _write(folder / "runs" / "bad", "bad", SKILLS["bad"], 9.0)
    _review(folder)
    return sorted(folder.joinpath("runs").rglob("*.json*"))


def _review(folder: Path) -> None:
    """Write a file of reviews, `review.jsonl`, and the set that is confirmed by it, `set.json`."""
    review = folder / "review.jsonl"
    assert run_siq(["study", "unanswerable", folder / "runs", "-o", review]) is None
    numbers = count()
    change_rows(review, lambda row: row | {"verdict": VERDICTS[next(numbers) > 1]})
    assert run_siq(["study", "unanswerable", folder / "runs", "--review", review, "-o", folder / "set.json"]) is None


def _write(folder: Path, name: str, skill: float, date: float) -> None:
    described = {"config": {"siq": {"pretrained": name, "system": {"kind": "cascade", "asr": {"model": name}}}}}
    results = write_run(folder, levels(skill), system=name, date=date, **described)
    (apply,) = results.parent.glob(f"samples_demo_2_*-{date:09.6f}.jsonl")
    change_rows(apply, _answer)
    (remember,) = results.parent.glob(f"samples_demo_0_*-{date:09.6f}.jsonl")
    change_rows(remember, lambda row: row | {"cer": row["wer"] / 2})


def _answer(row: dict[str, Any]) -> dict[str, Any]:
    letters = ["A"] * 5 if row["acc"] else list("BBCBE")
    given = {"filtered_resps": [[vote(letters), letters]], "audio_coverage": 1.0}
    return row | given | {"unparsed": 0.0, "none_of_the_above": 0.0}


def commands_of_runs(folder: Path) -> list[Command]:
    """Return the commands that read them."""
    runs, out = folder / "runs", folder / "out.json"
    excluded = ["--exclude", folder / "set.json"]
    return [
        ["score", runs, "--bootstrap", "60", "-o", out, "-o", folder / "out.csv"],
        ["score", runs, "--bootstrap", "0", "-o", folder / "harness", "-o", folder / "out.md"],
        ["score", runs, "--bootstrap", "0", "--group-by", "dataset", "-o", out, "-o", folder / "out.tex"],
        ["score", runs, "--bootstrap", "0", "--levels", "remember,apply", "-o", out],
        ["score", runs, "--bootstrap", "0", *excluded, "-o", out],
        ["compare", "good", "bad", runs, "--bootstrap", "60", "-o", out],
        ["compare", "good", "fair", runs, "--bootstrap", "0", "--levels", "apply", "-o", out],
        ["compare", "good", "fair", runs, "--bootstrap", "0", *excluded, "-o", out],
        ["score", runs, "--bootstrap", "0", "-o", folder / "out.html"],
        ["score", runs, "--bootstrap", "60", *excluded, "-o", folder / "out.html"],
        ["score", runs, "--save-norms", out],
        ["score", runs, *excluded, "--save-norms", out],
        ["study", "unanswerable", runs, "-o", folder / "found.jsonl", "--share", "0"],
        ["study", "unanswerable", folder / "runs", "--review", folder / "review.jsonl", "-o", out],
        ["study", "unanswerable", runs, "--set", folder / "set.json", "-o", out],
    ]


def use(folder: Path, rng: random.Random) -> str | None:
    """Run one of the commands that read runs, sometimes with one of the options that allow more."""
    command = rng.choice(commands_of_runs(folder))
    if command[0] in ("score", "compare"):
        command += rng.choice([[], [], *LOOSE])
    return run_siq(command, [folder / name for name in ("out.json", "out.csv", "harness")])


RUNS = Target(prepare, use, cases=30)
