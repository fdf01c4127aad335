"""Runs with judged answers, as lm-eval writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from speechiq.metrics.columns import mean
from speechiq.metrics.judge.free_answers import item_of
from speechiq.metrics.judge.free_answers import score as score_answer
from speechiq.metrics.judge.judging import Judgment
from speechiq.metrics.judge.rubric import read_rubric
from tests.reducer.conftest import write_files

AUDIO = {"path": "demo/clips/kennedy.ogg", "duration": 11.0}
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>{{ 7 * 7 }}"
MEASURE = {"column": "judge", "direction": "higher", "unit": "judge %", "range": [0, 1], "undefined": "counted"}


def write_judged(
    folder: Path,
    system: str,
    points: list[float],
    rubric: str = "grade_0_5",
    date: float = 1.0,
    task: str = "judged",
    **settings: Any,
) -> Path:
    """Write the run of one judged task and return its results file.

    Args:
        folder: Folder of lm-eval's output.
        system: Name of the system.
        points: Score of each answer on the scale of the rubric; NaN for one that was not judged.
        rubric: Name of a rubric.
        date: Time of the run.
        task: Name of the task.
        settings: Settings of the judge that are not the usual ones.
    """
    scale = read_rubric(rubric)
    judging = {
        "judge": "openai:referee", "judge_rubric": rubric, "judge_rubric_sha256": scale.sha256, "judge_draws": 1,
        "judge_seed": 1, "judge_by": "generate", "judge_identity": "0123", "judging": {"scale": list(scale.scale)},
    } | settings  # fmt: skip
    metadata = {"version": 1, "suite": "toy", "category": task, "item": ["id"], "measure": MEASURE, "dataset": "toy"}
    metadata |= {"settings": [key for key in judging if key != "judging"]} | judging
    rows = []
    for number, score in enumerate(points):
        item = item_of(f"{system} {number} {HOSTILE}", Judgment((score,), (f"Score: {score}",)), 1.0)
        doc = {"id": f"toy/{number}", "audio": AUDIO, "question": f"What is {number}?", "answer": f"It is {number}."}
        doc |= judging
        columns = score_answer(doc, [item])
        row = {"doc_id": number, "doc": doc, "target": doc["answer"], "arguments": {}, "resps": [[item["answer"]]]}
        row |= {"filtered_resps": [str(item)], "filter": "judgment", "metrics": list(columns)}
        row |= {"doc_hash": "0", "prompt_hash": "1", "target_hash": "2"} | columns
        rows.append(row)
    means = {f"{name},judgment": mean(row[name] for row in rows) for name in columns}
    errors = {f"{name}_stderr,judgment": "N/A" if "judge" in name else 0.25 for name in columns}
    written = {
        "results": {task: {"alias": task, "sample_len": len(rows)} | means | errors, "group": {"judge,judgment": 0.5}},
        "configs": {task: {"task": task, "metadata": metadata}, "arc_easy": {"task": "arc_easy"}},
        "group_subtasks": {"group": [task, "arc_easy"], "arc_easy": []},
        "n-samples": {task: {"original": len(rows), "effective": len(rows)}},
        "task_hashes": {task: "3", "arc_easy": "4"},
    }
    return write_files(folder, system, date, {task: rows}, **written)


@pytest.fixture
def judged_runs(tmp_path: Path) -> Path:
    """A good and a bad system, each with 40 judged answers, and the bad one with two more that were not judged."""
    random = np.random.default_rng(0)
    folder = tmp_path / "runs"
    write_judged(folder / "good", "good", random.integers(3, 6, 40).astype(float).tolist())
    bad = [*random.integers(0, 4, 40).astype(float).tolist(), float("nan"), float("nan")]
    write_judged(folder / "bad", "bad", bad)
    return folder
