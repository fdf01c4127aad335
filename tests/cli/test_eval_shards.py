"""`siq eval --shard`: the part of a run that one machine computes, and the run that collects all parts."""

from __future__ import annotations

import os
import signal

import pytest

from speechiq.harness_patch import processes
from speechiq.harness_patch.plan import Plan
from speechiq.harness_patch.processes import count_work
from tests.commands import call, refusal, siq, succeed

SYSTEM = "good"


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    """A response cache of its own."""
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))


@pytest.mark.parametrize(
    "arguments, line",
    [
        (("--shard", "0/2"), "--shard 0/2: not I/N; write the number of the shard, from 1"),
        (("--shard", "3/2"), "--shard 3/2: not I/N"),
        (("--shard", "two"), "--shard two: not I/N"),
        (
            ("--stages", "asr,lm"),
            "--stages asr,lm: 'lm' is not a stage; did you mean llm? known are asr, llm, judge, emb",
        ),
        (("--shard", "1/2", "--require-cached"), "--require-cached: a shard computes; leave one of the two out"),
    ],
)
def test_a_shard_that_cannot_be_is_one_line(instant, tmp_path, arguments, line):
    assert refusal("eval", SYSTEM, *arguments, "-o", tmp_path / "out").startswith(line)
    assert not instant and not (tmp_path / "out").exists()


def test_a_shard_without_a_response_cache_is_refused(instant, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", "off")
    assert refusal("eval", SYSTEM, "--shard", "1/2", "-o", tmp_path) == (
        "--shard 1/2: the response cache is off; set SIQ_STORE to a folder, or leave it unset"
    )


def test_a_shard_runs_finished_systems_too_and_records_none(instant, tmp_path):
    siq("eval", "good", "fair", "poor", "-o", tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.glob("*.json")}
    shard = ("eval", "good", "-o", tmp_path, "--shard", "2/4")
    assert siq(*shard, "--dry-run").startswith("# 1 system x 3 tasks: ") and len(instant) == 3
    done = succeed(*shard)
    assert instant[3:] == ["good"] and not done.stdout
    assert (tmp_path / "logs" / "shard-2-of-4.good.log").is_file()
    assert before == {file: file.read_bytes() for file in tmp_path.glob("*.json")}


@pytest.mark.parametrize(
    "arguments, line",
    [
        (("good", "--limit", "3"), "--limit 3: shards in {} have --limit 2; give the options that they have, name"),
        (("good",), "no --limit: shards in {} have --limit 2"),
        (("good,llm_answer=argmax", "--limit", "2"), "good,llm_answer=argmax: shards in {} have good; give"),
        (
            ("good", "--limit", "2", "--metadata", "subset=all"),
            "--metadata subset=all: shards in {} have no --metadata",
        ),
    ],
)
def test_a_shard_with_other_options_than_the_others_is_one_line(instant, tmp_path, arguments, line):
    siq("eval", "good", "-o", tmp_path, "--limit", "2", "--shard", "1/2")
    again = ("eval", *arguments, "-o", tmp_path, "--shard", "2/2")
    assert refusal(*again).startswith(line.format(tmp_path)) and instant == ["good"]
    siq("eval", "fair", "-o", tmp_path, "--limit", "2", "--shard", "1/2", "--metadata", "condition=white@10dB")
    siq(*again, "--force")
    assert len(instant) == 3 and len([*tmp_path.glob("shards/*.json")]) == 1


def test_a_record_of_shards_that_is_damaged_is_one_line(instant, tmp_path):
    siq("eval", "good", "-o", tmp_path, "--shard", "1/2")
    next(tmp_path.glob("shards/*.json")).write_text("{")
    assert "json': cannot be read" in refusal("eval", "good", "-o", tmp_path, "--shard", "2/2")


def test_the_log_of_a_shard_shows_how_far_it_is(instant, tmp_path, monkeypatch):
    assert "transcribing, 1 of 2" not in call("eval", "good", "-o", tmp_path).stderr
    monkeypatch.setattr("speechiq.cli.evaluation.runs.PERIOD_S", -1.0)
    done = call("eval", "good", "-o", tmp_path, "--shard", "1/1")
    assert "siq: good: transcribing, 1 of 2 clips" in done.stderr


def test_sigterm_ends_the_command_with_continue(instant, tmp_path, monkeypatch):
    def stop(*_):
        os.kill(os.getpid(), signal.SIGTERM)
        count_work(Plan((), (), "."))

    monkeypatch.setattr(processes, "run_with_log", stop)
    done = succeed("eval", "good", "fair", "-o", tmp_path, "--shard", "1/4")
    assert "siq: shard 1/4 was stopped after a batch; continue: the same command" in done.stderr
    assert not processes.stop_requests and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_shards_stages_and_the_run_that_collects_them(tiny_cascade, tmp_path):
    command = ("eval", tiny_cascade.spec, "--limit", "2", "--tasks", "siq_demo_understand")
    command += ("--metadata", f"embedder={tiny_cascade.llm}", "-o", tmp_path / "out")
    assert siq(*command, "--shard", "1/3") == ""
    error = refusal(*command, "--limit", "4", "--require-cached")
    assert "the response cache (--limit 4, but shards in" in error and "have --limit 2); compute" in error
    error = refusal(*command, "--require-cached")
    assert "1 of 2 rows of stage asr are not in the response cache; compute them, by the same command with" in error
    assert siq(*command, "--stages", "asr") == ""
    assert "4 of 8 rows of stage embed are not in the response cache" in refusal(*command, "--require-cached")
    partly = succeed(*command)
    assert "4 of 8 rows of stage embed are not in the response cache, and are com" in partly.stderr
    assert "wrote" in call(*command, "--require-cached", "--force").stderr
