"""Files of questions."""

from __future__ import annotations

import random
from pathlib import Path

from tests.fuzz.judge import run_siq
from tests.fuzz.targets.target import Target
from tests.siq_tasks.conftest import write_lines


def prepare(folder: Path, clips: tuple[str, ...] = ("0", "1", "2")) -> list[Path]:
    """Write three questions per clip."""
    rows = [
        {"id": f"calls/{clip}", "question_id": f"{clip}-q{n}", "question": f"What is fact {n}?", "answer": "ABCD"[n],
         "options": ["rightly", "brightly", "lightly", "nightly"], "writer": "w", "checkers": ["c"],
         "prompt_version": 1}
        for clip in clips for n in range(3)
    ]  # fmt: skip
    rows.append({"id": f"calls/{clips[0]}", "question_id": "x-q1", "left_out": "no checker agreed"})
    write_lines(folder / "questions.jsonl", *rows)
    return [folder / "questions.jsonl"]


def use(folder: Path, rng: random.Random) -> str | None:
    """Check the file."""
    return run_siq(["data", "check", folder / "questions.jsonl"])


QUESTIONS = Target(prepare, use, cases=150)
