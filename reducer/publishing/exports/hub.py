"""Write results for the Hugging Face Hub: `.eval_results/*.yaml`, the `model-index` of a card, and `eval.yaml`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from speechiq.reducer.publishing.exports.scores import Named, list_scores
from speechiq.reducer.publishing.schema import Result


def write_eval_results(result: Result, benchmark: str) -> dict[Path, bytes]:
    """Return `.eval_results/speechiq.yaml` of a model; `benchmark` is the data set on the Hub that has `eval.yaml`."""
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
            metric_type=named.category.column,
            metric_name=named.category.unit,
            metric_value=named.value,
            metric_args={"task": named.name, "notes": _note(result, named)},
        )
        for named in list_scores(result)
    ]
    card = ModelCardData(model_name=result.system, eval_results=results)
    return {Path("README.md"): f"---\n{card.to_yaml()}\n---\n".encode()}


def write_benchmark(results: Iterable[Result]) -> dict[Path, bytes]:
    """Return the `eval.yaml` of a benchmark's data set, with a task per score of some results."""
    units = {named.name: named.category.unit for result in results for named in list_scores(result)}
    scores = ", ".join(f"{name} ({unit})" for name, unit in units.items())
    content = {
        "name": "SpeechIQ",
        "description": f"An IQ test for voice-understanding models: {scores}",
        "evaluation_framework": "speechiq",
        "tasks": [{"id": name} for name in units],
    }
    return {Path("eval.yaml"): _as_yaml(content)}


def _note(result: Result, named: Named) -> str:
    """Return unit, interval, and the norms of SIQ."""
    low, high = named.score.low, named.score.high
    known = low is not None and high is not None
    interval = f"95 % interval {named.show(low):.2f} to {named.show(high):.2f}" * known
    norms = f"norms: {result.norms.label}{' (example)' * result.norms.example}" if result.norms else ""
    return "; ".join(filter(None, (named.category.unit, norms * (named.category.column == "siq"), interval)))


def _as_yaml(content: Any) -> bytes:
    import yaml

    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True)).encode()
