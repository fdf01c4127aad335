"""A task with free answers in lm-eval: judged by rule and by a model, cached, and refused before any system runs."""

import json

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.judge.judging import Case, judge_cases
from speechiq.metrics.judge.settings import read_judging
from speechiq.siq_tasks.index import HERE
from tests import runs
from tests.siq_tasks.questions.server import serving

LOADER = """
from datasets import Dataset
from speechiq.siq_tasks.loaders import bundled
from speechiq.siq_tasks.loaders.docs import Loaded
from speechiq.siq_tasks.settings import read_task_type
from speechiq.siq_tasks.settings import takes

@takes()
def load(**metadata):
    settings = read_task_type(metadata).read_settings(metadata)
    rows = bundled.load(level="apply").docs.select([0, 3, 6])
    docs = [
        {**row, "answer": row["options"]["ABCD".index(row["answer"])], "accepted": [], **settings} for row in rows
    ]
    return Loaded(Dataset.from_list(docs), settings)
"""
EMPTIED = 'docs[2]["answer"] = " "\n    return Loaded'
TASK = f"""
include: {HERE / "templates" / "_judged.yaml"}
task: free_demo
custom_dataset: !function free.load
metadata: {{version: 1.0, dataset: demo, suite: free, category: questions, judge_rubric: right_wrong}}
"""


@pytest.fixture
def evaluate(tmp_path, monkeypatch, endpoint_key):
    """Return a function that runs the task with metadata, on a system and a judge behind one server."""
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    tmp_path.joinpath("free.py").write_text(LOADER)
    tmp_path.joinpath("free_demo.yaml").write_text(TASK)

    def run(server, **metadata):
        system = {"pretrained": "gold+openai:system", "llm_base_url": server.url}
        return runs.evaluate("hf-audio", ["free_demo"], include=tmp_path, model_args=system, metadata=metadata)

    return run


def test_a_missing_reference_is_refused_before_the_system_runs(evaluate, tmp_path):
    loader = tmp_path / "free.py"
    loader.write_text(LOADER.replace("return Loaded", EMPTIED))
    with (
        serving(answers) as server,
        pytest.raises(SpeechIQError, match="no reference answer, which the rubric right_wr"),
    ):
        evaluate(server, judge="openai:judge", judge_base_url=server.url)
    assert server.requests == []


def answers(prompt, _number):
    """Answer one question rightly and refuse another, as a system; grade by the first words, as a judge."""
    if "<answer>" in prompt:
        return "Score: 1" if "<answer>\nRefrig" in prompt else "Score: 0" if "<answer>\nI" in prompt else "Hm."
    return (
        "Refrigerated freight."
        if "revenue" in prompt
        else "I can't process audio."
        if "customers" in prompt
        else "Plenty."
    )


@pytest.mark.slow
def test_free_answers_are_judged_in_lm_eval_and_a_second_run_asks_nothing(evaluate):
    with serving(answers) as server:
        metadata = {"judge": "openai:judge", "judge_base_url": server.url}
        found = evaluate(server, **metadata)
        asked = [request["model"] for request in server.requests]
        assert asked == ["system"] * 3 + ["judge"] * 3
        columns = {name.partition(",")[0]: value for name, value in found["results"]["free_demo"].items()}
        scores = [row["judge"] for row in found["samples"]["free_demo"]]
        assert sorted(map(str, scores)) == ["0.0", "1.0", "nan"] and columns["judge"] == 0.5
        assert columns["unjudged"] == columns["exact_match"] == pytest.approx(1 / 3) and columns["refusal"] > 0
        recorded = found["configs"]["free_demo"]["metadata"]
        assert recorded["judge"] == "openai:judge" and recorded["judge_rubric"] == "right_wrong"
        assert len(recorded["judge_rubric_sha256"]) == 64 and recorded["judge_draws"] == 1
        (item,) = found["samples"]["free_demo"][0]["filtered_resps"]
        assert item["texts"] == ["Score: 1"] and json.loads(str(item))["texts"] == ["Score: 1"]
        again = evaluate(server, **metadata)
        assert len(server.requests) == 6
        assert [str(row["judge"]) for row in again["samples"]["free_demo"]] == list(map(str, scores))
        ruled = evaluate(server)
        assert len(server.requests) == 6 and ruled["results"]["free_demo"]["judge,judgment"] == pytest.approx(1 / 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"judge": "openai:judge", "judge_draws": 0}, "judge_draws=0: not a whole number"),
        ({"jugde": "exact_match"}, "did you mean judge"),
    ],
)
def test_a_judge_that_cannot_work_is_refused_before_the_system_runs(evaluate, metadata, message):
    with serving(answers) as server:
        with pytest.raises(SpeechIQError, match=message):
            evaluate(server, **metadata)
        assert not server.requests


def test_a_small_model_judges_by_replies_and_by_likelihood(tiny_cascade, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    cases = [Case("What is the capital of France?", text, "Paris") for text in ("Paris.", "A banana.")]
    small = {"judge": f"hf:{tiny_cascade.llm}", "judge_max_gen_toks": 8}
    drawn = judge_cases(cases, read_judging(small | {"judge_draws": 2, "judge_rubric": "right_wrong"}))
    assert all(len(set(each.texts)) == 2 for each in drawn), "draws of different seeds differ"
    del small["judge_max_gen_toks"]
    judging = read_judging(small | {"judge_by": "likelihood"})
    right, wrong = judge_cases(cases, judging)
    assert all(0 < each.scores[0] < 5 for each in (right, wrong)) and right.scores != wrong.scores
    shares = json.loads(right.texts[0])
    assert list(shares) == list("012345") and sum(shares.values()) == pytest.approx(1, abs=1e-4)
    assert right.scores[0] == pytest.approx(sum(int(g) * p for g, p in shares.items()), abs=1e-3)
    assert judge_cases(cases, judging) == [right, wrong]
