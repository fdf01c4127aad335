"""Write results for the Hugging Face Hub: `.eval_results/*.yaml`, the `model-index` of a card, and `eval.yaml`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from speechiq.reducer.publishing.exports.scores import Named, list_scores
from speechiq.reducer.publishing.schema import Result


def write_eval_results(result: Result, benchmark: str) -> dict[Path, bytes]:
    """Return `.eval_results/speechiq.yaml` of a model's repository.

    Args:
        result: The result.
        benchmark: Data set of the Hub that has the benchmark, with an `eval.yaml` of `write_benchmark`.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    entries = [
        EvalResultEntry(
            dataset_id=benchmark,
            task_id=named.name,
            value=named.value,
            date=result.date,
            source_url=result.declaration.url,
            notes=_note(result, named),
        )
        for named in list_scores(result)
    ]
    return {Path(".eval_results/speechiq.yaml"): _as_yaml(eval_result_entries_to_yaml(entries))}


def write_model_card(result: Result, benchmark: str) -> dict[Path, bytes]:
    """Return a card with the `model-index` of a result; `benchmark` as for `write_eval_results`."""
    from huggingface_hub import EvalResult, ModelCardData

    results = [
        EvalResult(
            task_type="audio-text-to-text",
            dataset_type=benchmark,
            dataset_name=named.datasets,
            metric_type=named.category.column if named.category else "siq",
            metric_name=named.unit,
            metric_value=named.value,
            metric_args={"task": named.name, "notes": _note(result, named)},
        )
        for named in list_scores(result)
    ]
    card = ModelCardData(model_name=result.system, eval_results=results)
    return {Path("README.md"): f"---\n{card.to_yaml()}\n---\n".encode()}


def write_benchmark(results: Iterable[Result]) -> dict[Path, bytes]:
    """Return the `eval.yaml` of a benchmark's data set, with a task per score of some results."""
    names = {named.name: named.unit for result in results for named in list_scores(result)}
    content = {
        "name": "SpeechIQ",
        "description": "An IQ test for voice-understanding models: "
        + ", ".join(f"{name} ({names[name]})" for name in names),
        "evaluation_framework": "speechiq",
        "tasks": [{"id": name} for name in names],
    }
    return {Path("eval.yaml"): _as_yaml(content)}


def _note(result: Result, named: Named) -> str:
    norms = f"norms: {result.norms.label}{' (example)' * result.norms.example}" if result.norms else ""
    return "; ".join(filter(None, (named.unit, "" if named.category else norms, named.interval)))


def _as_yaml(content: Any) -> bytes:
    import yaml

    return bytes(yaml.safe_dump(content, sort_keys=False, allow_unicode=True).encode())
