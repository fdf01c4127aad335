"""Time answers as users do (`--metadata timing=stream`): columns, equal answers, and what is refused."""

import json
import math

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import TextPrompt
from speechiq.core.response import Response
from speechiq.core.transforms import Speed, write_transforms
from speechiq.core.usage import Latency, recording
from speechiq.engines.text.hf import TransformersLLM
from speechiq.engines.text.openai import OpenAIText
from speechiq.metrics.latency import TIMES, score
from speechiq.siq_tasks.settings import refuse
from tests.engines.opener import open_engine
from tests.records import named
from tests.runs import evaluate, read_rows
from tests.siq_tasks.questions.server import events, serving

pytestmark = pytest.mark.usefixtures("endpoint_key")

PROMPTS = [TextPrompt(f"Say {n}", shared=4) for n in ("one", "two and three", "four", "five")]
SEEDS = [[1, 2], [3, 4], [5, 6], [7, 8]]
SAMPLED = {"do_sample": True, "max_gen_toks": 6, "until": []}


def test_a_model_of_transformers_writes_the_same_and_one_prompt_after_the_other(tiny_cascade):
    plain = open_engine(TransformersLLM, tiny_cascade.llm, batch_size=1).generate(PROMPTS, SEEDS, SAMPLED)
    with recording() as recorder:
        answers = open_engine(TransformersLLM, tiny_cascade.llm, batch_size=4).generate(PROMPTS, SEEDS, SAMPLED)
    assert answers == plain and sorted(recorder.latencies) == [1, 3, 5, 7]
    times = recorder.latencies.values()
    assert sum(each.is_warm_up for each in times) == 1 and {each.at_once for each in times} == {1}
    assert all(0 < each.first_token < each.total and math.isnan(each.first_audio) for each in times)


def test_what_begins_before_the_first_answer_ends_is_warm_up():
    def script(_, number):
        return events([{"content": "a"}], [0.3 if number < 4 else 0])

    with serving(script) as server, recording() as recorder:
        model = open_engine(OpenAIText, "m", base_url=server.url, num_concurrent=3)
        model.generate(PROMPTS * 2, [[i] for i in range(8)], {"max_gen_toks": 6})
    times = recorder.latencies.values()
    assert len(times) == 8 and sum(each.is_warm_up for each in times) == 3
    assert max(each.at_once for each in times) == 3


def test_the_probe_of_sampling_is_not_timed():
    with serving(lambda _, number: f"words {number}") as server, recording() as recorder:
        open_engine(OpenAIText, "m", base_url=server.url).generate(PROMPTS[:1], [[11, 12]], SAMPLED)
    assert set(recorder.latencies) == {11, 12} and "stream" not in server.requests[0]


TIMED = {"timing": "stream"}


@pytest.mark.slow
def test_a_run_has_the_times_and_the_answers_of_one_without(tiny_cascade, tmp_path):
    spec, short = f"pretrained=gold+{tiny_cascade.llm}", {"limit": 4, "gen_kwargs": "max_gen_toks=4"}
    store = f"{spec},store={tmp_path / 'store'}"
    runs = {"plain": (f"{spec},store=off", {}), "timed": (store, TIMED), "again": (store, TIMED)}
    for name, (system, about) in runs.items():
        place = tmp_path / name
        evaluate("hf-audio", ["siq_demo_apply"], output=place, model_args=system, metadata=about, **short)
    plain, timed, again = (read_rows(tmp_path / name) for name in runs)
    assert [row["resps"] for row in plain] == [row["resps"] for row in timed] == [row["resps"] for row in again]
    assert not {*TIMES} & plain[0].keys() and "timing" not in json.dumps(plain)
    assert sorted(row["warm_up"] for row in timed) == [0, 0, 0, 1] and not any(row["from_cache"] for row in timed)
    for row in timed:
        expected = math.isnan(row["total_s"]) if row["warm_up"] else row["first_token_s"] <= row["total_s"]
        assert expected and math.isnan(row["first_audio_s"])
        seconds = row["arguments"]["gen_args_0"]["arg_2"]["audio"][0]["duration"]
        assert row["warm_up"] or row["real_time_factor"] == pytest.approx(row["total_s"] / seconds)
    assert all(row["from_cache"] == 1 and math.isnan(row["total_s"]) for row in again)
    digests = {row["doc_hash"] for row in plain} == {row["doc_hash"] for row in timed}
    stored = b"".join(file.read_bytes() for file in (tmp_path / "store").rglob("*.jsonl*"))
    assert digests and stored and b"first_token" not in stored


REFUSED = {
    "a control": ("hf-audio", "pretrained=letter:B", "this system does not write its answers; give answer=generate"),
    "likelihood": ("hf-audio", "pretrained=gold+{llm},llm_answer=likelihood", "does not write its answers"),
    "another engine": ("hf-audio", "pretrained=gold+dummy:x", "the engine of this system does not stream; use hf"),
    "another model type": ("dummy", "", "the model type DummyLM cannot time siq_demo_apply; run it with --model"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_timed_is_refused_before_it_runs(case, tiny_cascade):
    model, spec, line = case
    with pytest.raises(SpeechIQError, match=f"^--metadata timing=stream: .*{line}"):
        evaluate(model, ["siq_demo_apply"], model_args=spec.format(llm=tiny_cascade.llm), metadata=TIMED, limit=4)


def test_tasks_that_want_a_transcript_are_refused_and_those_that_can_be_timed_are_named():
    message = "--metadata timing=stream: no task of this run can be timed; tasks whose answers are written or spoken"
    with pytest.raises(SpeechIQError, match=message):
        refuse(TIMED, ["normalizer"])


def test_judged_answers_of_a_streaming_endpoint_have_their_times():
    def script(*_):
        asks_stream = server.requests[-1].get("stream")
        return events([{"content": "Jane"}, {"content": " Austen"}]) if asks_stream else "Jane Austen"

    with serving(script) as server:
        system = {"model": "m", "base_url": server.url, "num_concurrent": 1}
        tasks = ["audiobench_demo_judged", "siq_demo_remember"]
        results = evaluate("audio-api", tasks, model_args=system, metadata=TIMED, limit=3)
    rows = results["samples"]["audiobench_demo_judged"]
    assert [row["warm_up"] for row in rows].count(1) == 1 and not any(row["from_cache"] for row in rows)
    timed = [row for row in rows if not row["warm_up"]]
    assert all(0 < row["first_token_s"] <= row["total_s"] and row["resps"] == [["Jane Austen"]] for row in timed)
    assert "first_token_s" not in results["samples"]["siq_demo_remember"][0]
    assert results["configs"]["audiobench_demo_judged"]["metadata"]["timing"] == "stream"
    assert "timing" not in results["configs"]["siq_demo_remember"]["metadata"]
    assert sum("stream" in request for request in server.requests) == 3


def test_the_factor_of_a_written_answer_is_by_the_seconds_that_were_heard():
    audio = {"path": "a.wav", "sha256": "0a", "duration": 2.0}
    answer = Response("Yes.", latency=Latency(False, 1, 0.25, total=0.5))
    slow = audio | {"transforms": write_transforms([Speed(0.5)])}
    assert [score(answer, {"audio": each})["real_time_factor"] for each in (audio, slow)] == [0.25, 0.125]
    assert math.isnan(score(answer, {"audio": {}})["real_time_factor"])


def test_a_spoken_answer_takes_its_own_seconds_and_a_voice_behind_it_has_no_factor():
    doc, speech = {"audio": {"duration": 9.0}}, named("speech", seconds=4.0)
    own = Response("Yes.", audio=speech, latency=Latency(False, 1, 0.5, 0.75, 1.0))
    assert score(own, doc)["real_time_factor"] == 0.25 and score(own, doc)["first_audio_s"] == 0.75
    behind = Response("Yes.", audio=speech, latency=Latency(False, 1, 0.5, total=1.0))
    assert math.isnan(score(behind, doc)["real_time_factor"]) and score(behind, doc)["total_s"] == 1.0
    assert score(Response("Yes."), doc)["from_cache"] == 1
