"""Write runs of judged tasks as lm-eval writes them, without a model."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from speechiq.metrics.judge.rubric import read_rubric
from tests.reducer.conftest import write_files

NAN = math.nan
#: What a judged template describes, and what a run with a judge records.
METADATA = {
    "version": 1,
    "dataset": "talks",
    "prompt_version": 1,
    "suite": "listening",
    "category": "answers",
    "item": ["id", "question_id"],
    "measure": {
        "column": "judge",
        "direction": "higher",
        "unit": "judge %",
        "range": [0, 1],
        "undefined": "counted",
        "alternatives": {"exact_match": {"unit": "exact match %"}},
    },
    "settings": [
        "judge",
        "judge_rubric",
        "judge_rubric_sha256",
        "judge_draws",
        "judge_seed",
        "judge_by",
        "judge_identity",
    ],
}
JUDGE = {
    "judge": "openai:gpt-4o",
    "judge_rubric": "grade_0_5",
    "judge_rubric_sha256": read_rubric("grade_0_5").sha256,
    "judge_draws": 3,
    "judge_seed": 0,
    "judge_by": "generate",
    "judge_identity": "a" * 64,
}
EXACT_MATCH = JUDGE | {"judge": "exact_match", "judge_draws": 1, "judge_identity": "b" * 64}
SCALE = 0, 5


def judged_row(clip: str, question: str, scores: Sequence[float | None], **others: Any) -> dict[str, Any]:
    """Return a sample row whose answer a judge scored.

    Args:
        clip: Id of the clip.
        question: Id of the question.
        scores: Score of each draw on the scale 0 to 5; None for one that could not be read.
        others: `answer`, `exact_match`, `refusal`, and other columns that differ from the usual.
    """
    answer = others.pop("answer", f"an answer to {question}")
    known = [score for score in scores if score is not None]
    points = sum(known) / len(known) if known else NAN
    pairs = [one == other for i, one in enumerate(known) for other in known[:i]]
    low, high = SCALE
    texts = ["no number here" if score is None else f"Because.\nScore: {score:g}" for score in scores]
    filtered = {"answer": answer, "scores": list(scores), "texts": texts, "coverage": 1.0}
    return {
        "doc_id": 0,
        "doc": {"id": clip, "question_id": question, "question": f"What is {question}?", "answer": "the right one"}
        | {"text": "", "audio": {"path": "/none.wav"}},
        "target": "the right one",
        "arguments": {"gen_args_0": {"arg_0": "<audio>", "arg_1": {}}},
        "resps": [[answer]],
        "filtered_resps": [json.dumps(filtered)],
        "filter": "judge",
        "metrics": ["judge", "unjudged"],
        "judge": (points - low) / (high - low),
        "judge_points": points,
        "judge_agreement": sum(pairs) / len(pairs) if pairs else NAN,
        "unjudged": float(not known),
        "refusal": 0.0,
        "empty_answer": float(not answer),
        "exact_match": 0.0,
        "f1": 0.5,
        "answer_words": float(len(answer.split())),
        "audio_coverage": 1.0,
    } | others


def write_judged(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    system: str = "system",
    judge: Mapping[str, Any] = JUDGE,
    date: float = 1.0,
    task: str = "listening_answers",
    **metadata: Any,
) -> Path:
    """Write one run of a judged task and return its results file.

    Args:
        folder: Where the files go; made if needed.
        rows: From `judged_row`.
        system: `model_name`.
        judge: What the run recorded of its judge.
        date: Start of the run; also makes the stamp of the files.
        task: Name of the task.
        metadata: What the task describes in another way.
    """
    configs = {task: {"task": task, "metadata": METADATA | dict(judge) | metadata}}
    return write_files(folder, system, date, {task: list(rows)}, configs=configs)


def graded(grades: Sequence[Sequence[float | None]], questions: int = 2, **others: Any) -> list[dict[str, Any]]:
    """Return rows of clips with several questions each, one for each entry of `grades`."""
    return [
        judged_row(f"talks/{i // questions}", f"q{i % questions}", scores, **others) for i, scores in enumerate(grades)
    ]
