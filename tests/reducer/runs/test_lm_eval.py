"""A real lm-eval run is read: file names, metadata and sample rows are as this room takes them to be."""

from __future__ import annotations

import json

import pytest

from speechiq.reducer.scores.suites import read_systems
from tests.records import describe

TASK = """
task: {task}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}, cache_dir: {cache}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{id}}}}"
doc_to_target: ""
process_results: !function scoring.{level}
metric_list: [{{metric: {metric}, aggregation: mean, higher_is_better: true}}]
fewshot_config: {{samples: []}}
metadata: {metadata}
"""

SCORING = """
def remember(doc, results):
    return {"wer": doc["score"]}

def apply(doc, results):
    return {"acc": doc["score"]}
"""


@pytest.mark.parametrize("output", ["out", "out/all.json"])
def test_a_real_run(tmp_path, output):
    lm_eval = pytest.importorskip("lm_eval")
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Mute(LM):
        """Says nothing; unlike lm-eval's dummy it has no tokenizer to download."""

        def generate_until(self, requests):
            return ["" for _ in requests]

        loglikelihood = loglikelihood_rolling = generate_until

    rows = [{"id": "a", "question_id": f"q{n}", "score": n / 2} for n in (0, 1)]
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "scoring.py").write_text(SCORING)
    for level, metric, docs in (("remember", "wer", rows[1:]), ("apply", "acc", rows)):
        data = tmp_path / f"{level}.json"
        data.write_text("\n".join(map(json.dumps, docs)))
        yaml = TASK.format(
            task=f"t_{level}",
            data=data,
            level=level,
            metric=metric,
            cache=tmp_path / "cache",
            metadata=json.dumps(describe(level)),
        )
        (tasks / f"{level}.yaml").write_text(yaml)

    tracker = EvaluationTracker(output_path=str(tmp_path / output))
    results = lm_eval.simple_evaluate(
        model=Mute(),
        model_args="pretrained=org/asr+org/llm",
        tasks=["t_remember", "t_apply"],
        task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
        evaluation_tracker=tracker,
        bootstrap_iters=0,
    )
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    for task in results["configs"]:
        tracker.save_results_samples(task_name=task, samples=samples[task])

    (system,) = runs = read_systems([tmp_path / "out"])
    assert system.name == "org/asr+org/llm" and runs.warnings == []
    assert system.scores == {"remember": {("a",): -0.5}, "apply": {("a", "q0"): 0.0, ("a", "q1"): 0.5}}
