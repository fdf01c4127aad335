"""Runs that were killed, and runs that have all they need: real lm_eval processes over a store of their own."""

import json
import os
import random
import subprocess
import sys
import time

import pytest

from speechiq.core.cache.stages import list_stages
from tests.conftest import run

pytestmark = pytest.mark.slow

SYSTEM = "pretrained=demo:whisper-tiny.en+demo:SmolLM2-135M-Instruct,llm_answer=likelihood"
ASK = ("-m", "lm_eval", "--model", "hf-audio", "--model_args", SYSTEM, "--tasks", "siq_demo", "--batch_size", "1",
       "--limit", "4", "--device", "cpu", "--log_samples", "--output_path")  # fmt: skip


def environment(store):
    return os.environ | {"SIQ_STORE": str(store), "LMEVAL_LOG_LEVEL": "ERROR", "OMP_NUM_THREADS": "1"}


def evaluate(folder, store):
    done = run("python", *ASK, str(folder), env=environment(store))
    assert done.returncode == 0, done.stderr[-3000:]
    (file,) = folder.rglob("results_*.json")
    samples = {path.name.partition("_2")[0]: path.read_bytes() for path in folder.rglob("samples_*.jsonl")}
    return samples, json.loads(file.read_text())["config"]["siq"]


def count(store):
    return {stage.stage["stage"]: stage.rows for stage in list_stages(store)}


def kill_after(rows, arguments, store, seconds=0.0):
    """Start a run, and kill it `seconds` after its store has `rows` rows."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, *arguments], env=environment(store), **quiet)
    while process.poll() is None and sum(count(store).values()) < rows:
        time.sleep(0.1)
    time.sleep(seconds)
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def whole(demo_models, tmp_path_factory):
    """A run without interruption, and its store."""
    folder = tmp_path_factory.mktemp("whole")
    return *evaluate(folder / "runs", folder / "store"), folder / "store"


def test_a_run_killed_at_random_moments_ends_with_the_same_samples(whole, tmp_path):
    expected, described, _ = whole
    store, moments = tmp_path / "store", random.Random(5)
    for rows in (1, 6):
        kill_after(rows, [*ASK, str(tmp_path / "killed")], store, moments.random())
    before = count(store)
    samples, last = evaluate(tmp_path / "runs", store)
    assert samples == expected
    assert count(store) == count(whole[2])
    assert last["usage"].get("asr_clips", 0) == described["usage"]["asr_clips"] - before.get("asr", 0)
    questions, clips = 4, 2  # those about one clip share its transcript, and come before those without a clip
    read = max(0, before.get("text", 0) - questions + clips)
    assert last["usage"].get("prefills", 0) <= described["usage"]["prefills"] - read


def test_a_rerun_computes_nothing_and_loses_no_word(whole, tmp_path):
    samples, described = evaluate(tmp_path, whole[2])
    assert samples == whole[0]
    assert described["usage"] == {} and described["system"] == whole[1]["system"]


def test_a_damaged_row_alone_is_computed_again(whole, tmp_path):
    (asr,) = (stage.folder for stage in list_stages(whole[2]) if stage.stage["stage"] == "asr")
    (file,) = asr.glob("*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], lines[1][:40] + b"\n", *lines[2:]]))
    samples, described = evaluate(tmp_path, whole[2])
    assert samples == whole[0] and described["usage"] == {"asr_clips": 1}
    assert len(list(asr.glob("*.jsonl"))) == 2
