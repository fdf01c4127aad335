"""How a run was called, what it used and cost, how fast it was, and replies that were cut."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from speechiq.core import usage
from speechiq.reducer.runs.results_file import read_results, tasks_of
from speechiq.reducer.runs.run_record import RunRecord, read_run_record
from tests.commands import print_and_write, refusal, siq, succeed
from tests.records import describe
from tests.reducer.conftest import change_results, levels, write_run, write_skills

CONFIG = {
    "model": "hf-audio",
    "model_args": {"pretrained": "demo:whisper-base", "llm_answer": "likelihood"},
    "gen_kwargs": {"do_sample": False, "until": ["\n"]},
    "batch_size": "auto",
    "device": None,
    "limit": 4.0,
    "random_seed": 0,
    "siq": {"usage": {"asr_clips": 14, "odd": "x"}},
}
SKILLS = {"good": 0.9, "fair": 0.6, "poor": 0.3}
MEASURED = {"transcribing": {"audio_seconds": 412.5, "work_seconds": 20.5, "rtfx": 20.1}}
MEASURED |= {"embedding": {"audio_seconds": 0, "work_seconds": 3.5, "rtfx": None}}
USED = {"calls": 30, "prompt_tokens": 2_000_000, "completion_tokens": 500_000}
WORK = {
    "answering": {"audio_seconds": 10.0, "work_seconds": 1800.0, "rtfx": 0.1},
    "embedding": {"audio_seconds": 0.0, "work_seconds": 900.0, "rtfx": None},
}


@pytest.fixture
def read(tmp_path: Path):
    def read_record(content: dict, *tasks: str) -> RunRecord:
        path = tmp_path / "results_2025-01-01T00-00-00.json"
        configs = {task: {"metadata": describe("apply")} for task in tasks}
        path.write_text(json.dumps({"date": 0.0, "configs": configs} | content), encoding="utf-8")
        return read_run_record(tasks_of(path, read_results(path)))

    return read_record


def test_the_command_and_the_settings_are_rebuilt(read):
    record = read({"config": CONFIG, "total_evaluation_time_seconds": "63.8"}, "t_remember", "t_apply")
    assert record.command == (
        "lm_eval --model hf-audio --model_args pretrained=demo:whisper-base,llm_answer=likelihood "
        '--tasks t_apply,t_remember --gen_kwargs \'{"do_sample": false, "until": ["\\n"]}\' --batch_size auto '
        "--limit 4 --log_samples --output_path runs"
    )
    assert record.facts == {
        "Model type": "hf-audio",
        "Duration": "64 s",
        "Batch size": "auto",
        "Limit": "4.0",
        "Seed": "0",
        "Usage": "asr_clips 14",
    }


@pytest.mark.parametrize("arguments", [{"model": "m", "api_key": "s3cret"}, "model=m,hub_token=s3cret"], ids=type)
def test_no_secret_gets_into_the_command(read, arguments):
    command = read({"config": {"model": "local", "model_args": arguments}}, "t").command
    assert "model=m" in command and "***" in command and "s3cret" not in command


@pytest.mark.parametrize("content", [{}, {"config": {}}, {"config": {"model": [3], "siq": {"usage": [1]}}}])
def test_what_a_file_does_not_record_is_left_out(read, content):
    record = read(content, "t")
    assert record.command == "" and record.facts == {}


def test_earlier_names_are_read(read):
    assert read({"config": {"siq": {"usage": {"prefills": 2}}}}, "t").facts == {"Usage": "prefills 2"}


@pytest.fixture
def runs(tmp_path):
    for name, skill in SKILLS.items():
        config = {"batch_size": "auto", "siq": {"device": "cpu", "speed": MEASURED if name == "good" else {}}}
        write_run(tmp_path / "runs" / name, levels(skill), system=name, config=config)
    return tmp_path / "runs"


def test_speeds_have_a_table_and_a_key_on_request(runs):
    plain, (printed, content) = siq("score", runs), print_and_write("score", runs, "--speed")
    assert "RTFx" not in plain and printed.startswith(plain) and "20.1" in printed
    embedding, speed = content["speeds"]
    assert (speed["system"], speed["work"], speed["rtfx"]) == ("good", "transcribing", 20.1)
    assert (speed["device"], speed["batch_size"]) == ("cpu", "auto")
    assert (embedding["work"], embedding["work_seconds"], embedding["rtfx"]) == ("embedding", 3.5, None)
    rows = {line.split()[1]: line.split()[2:] for line in printed.splitlines() if line.split()[:1] == ["good"]}
    assert rows["embedding"] == ["3.5", "cpu", "auto"]


def test_runs_without_speeds_say_so(tmp_path):
    write_skills(tmp_path, SKILLS)
    assert "no run recorded a speed" in siq("score", tmp_path, "--speed")


def test_a_speed_that_is_not_a_number_is_one_line(tmp_path):
    speed = {"rtfx": "fast", "audio_seconds": 1, "work_seconds": 1}
    write_skills(tmp_path, SKILLS, config={"siq": {"speed": {"transcribing": speed}}})
    assert "the recorded speed is invalid" in refusal("score", tmp_path, "--speed")


def test_work_is_measured_and_added_over_processes():
    before = usage.snapshot()
    with usage.measured("transcribing", 30.0):
        pass
    one = usage.since(before)
    assert one.audio["transcribing"] == pytest.approx(30) and 0 < one.work["transcribing"] < 1
    both = usage.total([one, one])
    assert both.audio["transcribing"] == pytest.approx(60) and both.speeds()["transcribing"]["rtfx"] == pytest.approx(
        30 / one.work["transcribing"]
    )
    with pytest.raises(ZeroDivisionError), usage.measured("transcribing", 30.0):
        _ = 1 / 0
    assert usage.since(before).audio["transcribing"] == pytest.approx(30)


def test_work_for_a_purpose_is_apart_from_the_other_work_of_an_engine():
    before = usage.snapshot()
    with usage.counted_as("judging"), usage.measured("answering"):
        pass
    with usage.measured("answering", 8.0):
        pass
    speeds = usage.since(before).speeds()
    assert speeds["judging"]["rtfx"] is None and speeds["judging"]["work_seconds"] > 0
    assert speeds["answering"]["audio_seconds"] == pytest.approx(8)


def test_replies_that_end_at_the_limit_are_said_below_the_table_and_in_the_files(runs):
    written = {"written": 40, "at_limit": 12, "transcripts": 14, "transcripts_at_limit": 2}
    write_run(runs / "cut", levels(0.5), system="cut", config={"siq": {"replies": written}})

    def limit(content):
        for task, tokens in {"demo_0": 1024, "demo_1": 1024, "demo_2": 256, "arc_easy": 64}.items():
            content["configs"][task]["generation_kwargs"] = {"max_gen_toks": tokens}

    change_results(*(runs / "cut").glob("results_*.json"), limit)
    printed, content = print_and_write("score", runs)
    said = "12 of 40 replies of cut end at the limit of 64 or 256 tokens; raise it with --gen_kwargs"
    assert said in " ".join(printed.split())
    assert "2 of 14 transcripts of cut end at a token limit" in " ".join(printed.split())
    assert content["cut_replies"] == [
        {"system": "cut", "replies": 40, "at_limit": 12, "limits": [64, 256], "kind": "replies"},
        {"system": "cut", "replies": 14, "at_limit": 2, "limits": [], "kind": "transcripts"},
    ]


@pytest.fixture
def priced(tmp_path) -> Path:
    """Return runs of two systems, each half an hour of work and measured; the first called an endpoint."""
    folder = tmp_path / "runs"
    for name, used in (("openai:m", USED), ("local", {"prefills": 5})):
        config = {"siq": {"pretrained": name, "usage": used, "speed": WORK}}
        write_run(folder / name.replace(":", "_"), levels(0.5 if used is USED else 0.2), system=name, config=config)
    return folder


def table(folder: Path, text: str) -> Path:
    file = folder / "prices.csv"
    file.write_text(text)
    return file


def test_a_cost_is_that_of_tokens_and_of_the_systems_own_work(priced, tmp_path):
    prices = table(tmp_path, "system,input,output,hour\nopenai:m,2.5,10,\nother,1,1,1\n")
    printed, content = print_and_write("score", priced, "--prices", prices, "--bootstrap", 0)
    found = {row["system"]: row for row in content["costs"]}
    assert found["openai:m"]["cost"] == pytest.approx(2 * 2.5 + 0.5 * 10) and found["local"]["cost"] is None
    assert [found[name]["work_seconds"] for name in found] == [1800, 1800] and found["local"]["calls"] == 0
    assert "10.0000" in printed and "2,000,000" in printed
    by_hour = table(tmp_path, "system,hour\nlocal,3\n")
    _, content = print_and_write("score", priced, "--prices", by_hour, "--bootstrap", 0)
    assert {row["system"]: row["cost"] for row in content["costs"]} == {"openai:m": None, "local": 1.5}


def test_a_cost_by_tokens_that_an_endpoint_does_not_state_is_unknown(tmp_path):
    used = {"calls": 15, "prompt_tokens": 9, "replies_without_tokens": 15}
    write_run(tmp_path / "m", levels(0.5), system="m", config={"siq": {"usage": used, "speed": WORK}})
    for prices, cost in (("input,hour\nm,2.5,3", None), ("output\nm,10", None), ("input,hour\nm,0,3", 1.5)):
        file = table(tmp_path, f"system,{prices}\n")
        printed, content = print_and_write("score", tmp_path, "--prices", file, "--bootstrap", 0)
        (found,) = content["costs"]
        assert found["cost"] == cost and "m: its endpoint states no tokens for 15 calls" in printed


def test_a_report_draws_scores_against_costs_of_three_systems(priced, tmp_path):
    write_run(priced / "third", levels(0.8), system="third", config={"siq": {"pretrained": "third", "speed": WORK}})
    prices = table(tmp_path, "system,hour\nlocal,3\nthird,9\nopenai:m,6\n")
    succeed("score", priced, "--prices", prices, "-o", tmp_path / "report.html", "--bootstrap", 0)
    page = (tmp_path / "report.html").read_text()
    assert "Scores against cost" in page and 'id="tradeoffs-siq"' in page
    succeed("score", priced, "-o", tmp_path / "plain.html", "--bootstrap", 0)
    assert "Scores against cost" not in (tmp_path / "plain.html").read_text()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name,input\na,1\n", "no column 'system'"),
        ("system,price\na,1\n", "no column of prices; add input, output, hour"),
        ("system,input\nlocal,free\n", "row 1: input is 'free', not a price"),
        ("system,input\nlocal,-1\n", "row 1: input is '-1', not a price"),
        ("system,input\nlocal,1\nlocal,2\n", "row 2: duplicate system 'local'"),
        ("system,input\nlocl,1\n", "--prices: names no system of these runs; did you mean local?"),
    ],
)
def test_prices_that_cannot_be_used_are_refused(priced, tmp_path, text, fault):
    assert fault in refusal("score", priced, "--prices", table(tmp_path, text))
