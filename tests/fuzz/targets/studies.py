"""Runs with what people and judges said of them: labels, ranks, judged answers, scores of people, conditions."""

from __future__ import annotations

import random
from pathlib import Path

from tests.cli.test_predict import SYSTEMS, rows_of, write_system
from tests.fuzz.judge import run_siq
from tests.fuzz.targets.target import Command, Target
from tests.reducer.studies.conftest import write_judged
from tests.reducer.studies.test_judge_check import strict, write_scores
from tests.reducer.studies.test_robustness import write_study


def prepare_labels(folder: Path) -> list[Path]:
    """Write the runs of two systems and of a control, labels by their answer keys, and a table of ranks."""
    for system in (*SYSTEMS, "gold"):
        control = {"control": "gold"} if system == "gold" else None
        write_system(folder / "runs", system, rows_of(SYSTEMS[0] if system == "gold" else system), control)
    assert run_siq(["study", "labels", folder / "runs", "-o", folder / "labels.jsonl"]) is None
    ranks = "".join(f'{{"system": "{system}", "people": {i}}}\n' for i, system in enumerate((*SYSTEMS, "gold"), 1))
    folder.joinpath("ranks.jsonl").write_text(ranks, encoding="utf-8")
    return [folder / "labels.jsonl", folder / "ranks.jsonl", *sorted(folder.glob("runs/*/*.json*"))]


def commands_of_labels(folder: Path) -> list[Command]:
    """Return the commands that read them."""
    runs, given = folder / "runs", ["--labels", folder / "labels.jsonl"]
    predict = ["study", "predict", runs, "--bootstrap", "60"]
    return [
        [*predict, *given, "-o", folder / "out.json", "-o", folder / "out.csv", "-o", folder / "out.html"],
        [*predict, "--combine", "wer + semdist", "-o", folder / "out.json"],
        [*predict, "--only", "errors,answerable", "-o", folder / "out.csv"],
        ["study", "labels", runs, "-o", folder / "made.jsonl"],
        ["study", "labels", runs, "-o", folder / "out.html"],
        ["paper", "correlate", runs, "--ranks", folder / "ranks.jsonl", "-o", folder / "out.json"],
        ["compare", "tiny", "base", runs, "--metrics", "wer,semdist", "--bootstrap", "60", "-o", folder / "out.json"],
        ["score", runs, "--bootstrap", "0", "-o", folder / "out.html"],
        ["score", runs, "--bootstrap", "0", "--speed", "-o", folder / "out.json"],
    ]


def prepare_judged(folder: Path) -> list[Path]:
    """Write the judged answers of two systems by two judges, and the scores that a person gave."""
    for name, shift in (("good", 1.0), ("bad", 0.0)):
        points = [float(i % 5) + shift for i in range(24)]
        write_judged(folder / "runs" / name, name, points)
        write_judged(folder / "others" / name, name, points[::-1], judge="openai:other", judge_identity="4567")
    write_scores(folder / "scores.jsonl", folder / "runs", strict)
    return [folder / "scores.jsonl", *sorted(folder.glob("runs/*/*.json*"))]


def commands_of_judged(folder: Path) -> list[Command]:
    """Return the commands that read them."""
    runs = folder / "runs"
    return [
        ["judge", "run", runs, "--judge", "exact_match", "-o", folder / "again"],
        ["judge", "agree", runs, folder / "others", "--bootstrap", "60", "-o", folder / "out.json"],
        ["judge", "check", runs, "-n", "5", "-o", folder / "out.html"],
        ["judge", "check", runs, "--scores", folder / "scores.jsonl", "-o", folder / "out.json"],
        ["score", runs, "--bootstrap", "60", "-o", folder / "out.json", "-o", folder / "out.csv"],
        ["score", runs, "--bootstrap", "0", "-o", folder / "harness"],
        ["compare", "good", "bad", runs, "--bootstrap", "60", "-o", folder / "out.json"],
        ["score", runs, "--bootstrap", "0", "-o", folder / "out.html"],
    ]


def prepare_conditions(folder: Path) -> list[Path]:
    """Write runs under noise."""
    write_study(folder / "runs", strengths=("20", "0"), systems=("steady", "weak"))
    return sorted(folder.glob("runs/*/*.json*"))


def commands_of_conditions(folder: Path) -> list[Command]:
    """Return the commands that read them."""
    files = [word for ending in ("json", "csv", "html") for word in ("-o", folder / f"out.{ending}")]
    return [
        ["study", "robustness", folder / "runs", "--bootstrap", "60", *files],
        ["score", folder / "runs", "--bootstrap", "0", "--allow-mismatch", "-o", folder / "out.json"],
    ]


def _target(prepare, commands, cases: int) -> Target:
    def use(folder: Path, rng: random.Random) -> str | None:
        return run_siq(rng.choice(commands(folder)), [folder / name for name in ("out.json", "out.csv", "harness")])

    return Target(prepare, use, cases)


LABELS = _target(prepare_labels, commands_of_labels, 30)
JUDGED = _target(prepare_judged, commands_of_judged, 30)
CONDITIONS = _target(prepare_conditions, commands_of_conditions, 15)
