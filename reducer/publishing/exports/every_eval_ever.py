"""Write results in the form of Every Eval Ever, version 0.3.0: one file per run, and one row per sample."""

import hashlib
import json
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
    developer, model = name_model(result.system)
    identity = uuid.UUID(bytes=hashlib.sha256(as_text(result)).digest()[:16], version=4)
    place = Path("data", "speechiq", developer, model, f"{identity}.json")
    moment = f"{datetime.fromisoformat(result.date).timestamp():.0f}"
    about = {"schema_version": VERSION, "evaluation_id": f"speechiq/{developer}_{model}/{moment}"}
    scores, declared = list_scores(result), result.declaration
    content: dict[str, Any] = about | {
        "evaluation_timestamp": result.date,
        "retrieved_timestamp": moment,
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": declared.submitter or "not declared",
            "evaluator_relationship": "other",
            "additional_details": {"interests": str(declared.interests), "contamination": str(declared.contamination)},
        },
        "model_info": {
            "name": result.system,
            "id": f"{developer}/{model}",
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": AVAILABILITY[declared.openness],
                "system": json.dumps(result.description, sort_keys=True),
            },
        },
        "eval_library": {"name": "speechiq", "version": result.speechiq},
        "evaluation_results": [_describe_score(result, named) for named in scores],
    }
    lines = [json.dumps(about | {"model_id": f"{developer}/{model}"} | each) + "\n" for each in _samples(scores, rows)]
    files, samples = {}, place.with_name(f"{identity}_samples.jsonl")
    if lines:
        files[samples] = "".join(lines).encode()
        content["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": samples.as_posix(),
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(files[samples]).hexdigest(),
            "total_rows": len(lines),
        }
    return files | {place: (json.dumps(content, indent=1) + "\n").encode()}


def name_model(system: str) -> tuple[str, str]:
    """Return developer and model as plain names; `local` if the first stage names no developer.

    >>> name_model("openai/whisper-base+Qwen/Qwen2-7B"), name_model("gold+Qwen/Qwen2-7B")
    (('openai', 'whisper-base+Qwen_Qwen2-7B'), ('local', 'gold+Qwen_Qwen2-7B'))
    """
    developer, model = system.split("/", 1) if "/" in system.partition("+")[0] else ("local", system)
    plain = (re.sub("[^A-Za-z0-9.+-]+", "_", name)[:LONGEST].strip("._ ") or "local" for name in (developer, model))
    return next(plain), next(plain)


def _describe_score(result: Result, named: Named) -> dict[str, Any]:
    category, score = named.category, named.score
    uncertainty: dict[str, Any] = {"num_bootstrap_samples": result.draws, "num_samples": category.items}
    if score.low is not None and score.high is not None:
        ends = {"lower": score.low, "upper": score.high, "confidence_level": 0.95, "method": "bootstrap of clips"}
        uncertainty["confidence_interval"] = ends
    norms = {"norms": result.norms.label, "norms_sha256": result.norms.sha256} if result.norms else {}
    least, largest = _range_of(named)
    return {
        "evaluation_result_id": named.name,
        "evaluation_name": named.name,
        "source_data": {"dataset_name": named.datasets, "source_type": "other"},
        "metric_config": {
            "metric_id": f"speechiq.{category.column}",
            "metric_name": category.unit,
            "lower_is_better": category.direction == "lower",
            "score_type": "continuous",
            "min_score": least,
            "max_score": largest,
        },
        "score_details": {
            "score": score.value,
            "details": norms if category.column == "siq" else {},
            "uncertainty": uncertainty,
        },
        "generation_config": {"generation_args": {"execution_command": " && ".join(result.commands)}},
    }


def _range_of(named: Named) -> Sequence[float | str]:
    """Return the limits of the column of a score."""
    ranges = (task.metadata["measure"].get("range") for task in named.tasks if named.category.column != "siq")
    return next(filter(None, ranges), ("-Infinity", "Infinity"))


def _samples(scores: Sequence[Named], rows: Rows) -> Iterator[dict[str, Any]]:
    """Yield a sample per row with texts and a score of a category."""
    for named in scores:
        for task in named.tasks if named.category.column != "siq" else ():
            for row in rows[task.task] if task.rows.texts else ():
                if row.get(named.category.column) is not None:
                    yield _describe_sample(named, task, row)


def _describe_sample(named: Named, task: TaskRecord, row: Mapping[str, Any]) -> dict[str, Any]:
    doc, replies, score = row["doc"], row.get("resps"), row[named.category.column]
    reference = str(doc.get("answer") or doc.get("text") or "")
    prompt = str(doc.get("question") or f"Transcribe {doc['id']}.")
    texts = replies[0] if isinstance(replies, list) and replies and isinstance(replies[0], list) else [replies]
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
        "evaluation": {
            "score": score,
            "is_correct": score == _range_of(named)[0 if named.category.direction == "lower" else 1],
        },
    }
