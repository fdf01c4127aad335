"""Files that are made once and then only read: norms, and sets of reviewed questions."""

from __future__ import annotations

import random
from pathlib import Path

from tests.fuzz.judge import run_siq
from tests.fuzz.targets import runs
from tests.fuzz.targets.target import Target


def prepare_norms(folder: Path) -> list[Path]:
    """Freeze the norms of the three systems."""
    runs.prepare(folder)
    assert run_siq(["score", folder / "runs", "--save-norms", folder / "norms.json"]) is None
    return [folder / "norms.json"]


def use_norms(folder: Path, rng: random.Random) -> str | None:
    """Score, report or compare the systems on damaged norms."""
    out, page = folder / "out.json", folder / "out.html"
    commands = (
        ["score", folder / "runs", "-o", out],
        ["score", folder / "runs", "-o", page],
        ["compare", "good", "bad", folder / "runs", "-o", out],
    )
    loose = rng.choice(([], ["--allow-mismatch"]))
    return run_siq([*rng.choice(commands), "--bootstrap", "0", "--norms", folder / "norms.json", *loose], [out])


def prepare_sets(folder: Path) -> list[Path]:
    """Write a file of reviews and the set that is confirmed by it."""
    runs.prepare(folder)
    return [folder / "review.jsonl", folder / "set.json"]


def use_sets(folder: Path, rng: random.Random) -> str | None:
    """Confirm reviews, count hallucinations and leave questions out by a damaged set."""
    out = folder / "out.json"
    commands = (
        ["study", "unanswerable", folder / "runs", "--review", folder / "review.jsonl", "-o", out],
        ["study", "unanswerable", folder / "runs", "--set", folder / "set.json", "-o", out],
        ["score", folder / "runs", "--exclude", folder / "set.json", "--bootstrap", "0", "-o", out],
        ["score", folder / "runs", "--exclude", folder / "set.json", "--save-norms", out],
    )
    return run_siq(rng.choice(commands), [out])


NORMS = Target(prepare_norms, use_norms, cases=35)
SETS = Target(prepare_sets, use_sets, cases=80)
