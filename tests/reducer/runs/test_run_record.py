"""How lm-eval was called, as a results file records it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.run_record import read_record

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


@pytest.fixture
def write(tmp_path: Path):
    def results(content: object) -> Path:
        path = tmp_path / "results_2025-01-01T00-00-00.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return results


def test_the_command_and_the_settings_are_rebuilt(write):
    record = read_record(write({"config": CONFIG, "total_evaluation_time_seconds": "63.8"}), ["t_apply", "t_remember"])
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
def test_no_secret_gets_into_the_command(write, arguments):
    command = read_record(write({"config": {"model": "local", "model_args": arguments}}), ["t"]).command
    assert "model=m" in command and "***" in command and "s3cret" not in command


@pytest.mark.parametrize(
    "content",
    [{}, {"config": {}}, {"config": {"model": [3], "siq": {"usage": [1]}}}, {"config": 7}, {"config": {"siq": 1}}],
)
def test_what_a_file_does_not_record_is_left_out(write, content):
    record = read_record(write(content), ["t"])
    assert record.command == "" and record.facts == {}


def test_earlier_names_are_read(write):
    assert read_record(write({"config": {"siq": {"usage": {"prefills": 2}}}}), []).facts == {"Usage": "prefills 2"}


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(SpeechIQError, match=r"results_gone\.json' cannot be read"):
        read_record(tmp_path / "results_gone.json", [])
