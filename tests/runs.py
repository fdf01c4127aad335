"""Load and run tasks in the process of the tests as lm-eval's command line does, and read the rows of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager
from lm_eval.tasks._yaml_loader import load_yaml

from speechiq.siq_tasks.index import read_index
from speechiq.siq_tasks.task import SpeechTask


def load_task(name: str, **metadata: Any) -> SpeechTask:
    """Load a task of the package as lm-eval does, with metadata of a user."""
    config = load_yaml(read_index()[name].file, resolve_func=True)
    return SpeechTask(config=config | {"metadata": config.get("metadata", {}) | metadata})


def evaluate(
    model: Any,
    tasks: Iterable[str],
    *,
    output: Path | None = None,
    include: Path | None = None,
    metadata: dict[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Return the results of a model with its sample rows, and write the files of the run below `output`."""
    tracker = EvaluationTracker(output_path=str(output)) if output else None
    results = simple_evaluate(
        model,
        tasks=list(tasks),
        metadata=metadata or {},
        task_manager=TaskManager(
            include_path=include and str(include), include_defaults=False, metadata=metadata or {}
        ),
        evaluation_tracker=tracker,
        bootstrap_iters=0,
        **{"device": "cpu"} | options,
    )
    if tracker:
        saved = {name: part for name, part in results.items() if name != "samples"}
        tracker.save_results_aggregated(results=saved, samples=results["samples"])
        for task, rows in results["samples"].items():
            tracker.save_results_samples(task_name=task, samples=rows)
    return results


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the sample rows of the only task of a run."""
    (file,) = folder.rglob("samples_*.jsonl")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
