"""Write results in the form of Every Eval Ever, version 0.3.0: one file per run, and one row per sample."""

from __future__ import annotations

import hashlib
import json
import math
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from speechiq.reducer.publishing.exports.scores import Named, list_scores
from speechiq.reducer.publishing.folder import as_text
from speechiq.reducer.publishing.schema import Result, TaskRecord

VERSION = "0.3.0"
AVAILABILITY = {"open": "open_weights", "weights": "open_weights", "closed": "closed_weights", None: "unknown"}
#: Characters of the longest name of a model.
LONGEST = 100
Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def write_every_eval_ever(result: Result, rows: Rows) -> dict[Path, bytes]:
    """Return the file of a result at its place in their data store, and that of its rows if these have texts."""
    developer, model = _name_model(result.system)
    identity = uuid.UUID(bytes=hashlib.sha256(as_text(result)).digest()[:16], version=4)
    folder = Path("data", "speechiq", developer, model)
    moment = f"{datetime.fromisoformat(result.date).timestamp():.0f}"
    evaluation, model_id = f"speechiq/{developer}_{model}/{moment}", f"{developer}/{model}"
    scores = [*list_scores(result)]
    about = {"schema_version": VERSION, "evaluation_id": evaluation}
    content: dict[str, Any] = {
        **about,
        "evaluation_timestamp": result.date,
        "retrieved_timestamp": moment,
        "source_metadata": _describe_source(result),
        "model_info": {
            "name": result.system,
            "id": model_id,
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": AVAILABILITY[result.declaration.openness],
                "system": json.dumps(result.description, sort_keys=True),
            },
        },
        "eval_library": {"name": "speechiq", "version": result.speechiq, "additional_details": _versions(result)},
        "evaluation_results": [_describe_score(result, named) for named in scores],
    }
    files = {}
    samples = [about | {"model_id": model_id} | sample for named in scores for sample in _list_samples(named, rows)]
    if samples:
        place = folder / f"{identity}_samples.jsonl"
        files[place] = "".join(json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples).encode()
        content["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": place.as_posix(),
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(files[place]).hexdigest(),
            "total_rows": len(samples),
        }
    return files | {folder / f"{identity}.json": (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()}


def _name_model(system: str) -> tuple[str, str]:
    """Return developer and model as plain names; `local` if the first stage names no developer.

    >>> _name_model("openai/whisper-base+Qwen/Qwen2-7B"), _name_model("gold+Qwen/Qwen2-7B")
    (('openai', 'whisper-base+Qwen_Qwen2-7B'), ('local', 'gold+Qwen_Qwen2-7B'))
    """
    developer, model = system.split("/", 1) if "/" in system.partition("+")[0] else ("local", system)
    plain = (re.sub("[^A-Za-z0-9.+-]+", "_", name)[:LONGEST].strip("._ ") or "local" for name in (developer, model))
    return next(plain), next(plain)


def _describe_source(result: Result) -> dict[str, Any]:
    declared = {"interests": result.declaration.interests, "contamination": result.declaration.contamination}
    return {
        "source_name": "speechiq",
        "source_type": "evaluation_run",
        "source_organization_name": result.declaration.submitter or "not declared",
        "evaluator_relationship": "other",
        "additional_details": {key: text for key, text in declared.items() if text},
    }


def _versions(result: Result) -> dict[str, str]:
    return {package: version for task in result.tasks for package, version in task.versions.items()}


def _describe_score(result: Result, named: Named) -> dict[str, Any]:
    low, high = named.score.low, named.score.high
    uncertainty: dict[str, Any] = {"num_bootstrap_samples": result.draws}
    if named.category:
        uncertainty["num_samples"] = named.category.items
    if low is not None and high is not None:
        bounds = {"lower": low, "upper": high, "confidence_level": 0.95, "method": "bootstrap of clips"}
        uncertainty["confidence_interval"] = bounds
    norms = {"norms": result.norms.label, "norms_sha256": result.norms.sha256} if result.norms else {}
    least, largest = _range_of(named)
    return {
        "evaluation_result_id": named.name,
        "evaluation_name": named.name,
        "source_data": {"dataset_name": named.datasets, "source_type": "other"},
        "evaluation_timestamp": result.date,
        "metric_config": {
            "metric_id": f"speechiq.{named.category.column if named.category else 'siq'}",
            "metric_name": named.unit,
            "lower_is_better": named.lower_is_better,
            "score_type": "continuous",
            "min_score": least,
            "max_score": largest,
        },
        "score_details": {
            "score": named.score.value,
            "details": {} if named.category else norms,
            "uncertainty": uncertainty,
        },
        "generation_config": {"generation_args": {"execution_command": " && ".join(result.commands)}},
    }


def _range_of(named: Named) -> tuple[float | str, float | str]:
    """Return the limits of a score; those of a column, as its task has them."""
    measures = [task.metadata["measure"] for task in named.tasks] if named.category else []
    limits = next((measure["range"] for measure in measures if measure.get("range")), None)
    return tuple(limits) if limits else ("-Infinity", "Infinity")


def _list_samples(named: Named, rows: Rows) -> Iterator[dict[str, Any]]:
    """Yield a sample per row with texts and a score of a category."""
    for task in named.tasks if named.category else ():
        for row in rows[task.task] if task.rows.texts else ():
            score = row.get(named.category.column) if named.category else None
            if isinstance(score, int | float) and math.isfinite(score):
                yield _describe_sample(named, task, row, float(score))


def _describe_sample(named: Named, task: TaskRecord, row: Mapping[str, Any], score: float) -> dict[str, Any]:
    doc = row["doc"]
    reference = str(doc.get("answer") or doc.get("text") or "")
    prompt = str(doc.get("question") or f"Transcribe {doc['id']}.")
    replies = row.get("resps")
    texts = replies[0] if isinstance(replies, list) and replies and isinstance(replies[0], list) else [replies]
    best = _range_of(named)[0 if named.lower_is_better else 1]
    options = doc.get("options")
    return {
        "evaluation_name": named.name,
        "evaluation_result_id": named.name,
        "sample_id": "/".join(str(doc[field]) for field in task.metadata["item"]),
        "sample_hash": hashlib.sha256((prompt + reference).encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": {
            "raw": prompt,
            "reference": [reference],
            "choices": [*map(str, options)] if isinstance(options, list) else None,
        },
        "output": {"raw": [*map(str, texts)]},
        "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": score == best},
        "metadata": {"task": task.task, "clip": str(doc["id"])},
    }
