"""Runs under a condition: two processes, and a killed run that goes on, give the bytes of one process."""

import pytest

from tests.harness_patch.test_ranks import LAUNCH, evaluate, read
from tests.harness_patch.test_resume import count, kill_after

pytestmark = pytest.mark.slow

ASK = ("--model", "hf-audio", "--model_args", "pretrained=demo:whisper-tiny.en+demo:SmolLM2-135M-Instruct",
       "--tasks", "siq_demo_remember",
       "--metadata", "condition=babble:2@6dB+white@10dB", "--batch_size", "1", "--log_samples")  # fmt: skip
CLIPS = 4


def rows_of(store):
    """Return the lines of all rows of a store, without the time and the process in which they were computed."""
    return sorted(line for file in store.rglob("*.jsonl") for line in file.read_bytes().splitlines())


@pytest.fixture(scope="module")
def one(demo_models, tmp_path_factory):
    """Return a run of one process: its place, and what it gave."""
    folder = tmp_path_factory.mktemp("one")
    evaluate(folder / "runs", "python", ask=ASK, limit=CLIPS, store=folder / "store")
    return folder, read(folder / "runs")


def test_two_processes_add_the_same_noise(one, tmp_path):
    evaluate(tmp_path / "runs", *LAUNCH, "2", ask=ASK, limit=CLIPS, store=tmp_path / "store")
    rows, results, usage = read(tmp_path / "runs")
    assert (rows, results) == one[1][:2] and len(rows) == CLIPS
    assert usage["asr_clips"] == CLIPS
    assert rows_of(tmp_path / "store") == rows_of(one[0] / "store")


def test_a_killed_run_goes_on_with_the_same_noise(one, tmp_path):
    store = tmp_path / "store"
    kill_after(1, ["-m", "lm_eval", *ASK, "--limit", str(CLIPS), "--output_path", str(tmp_path / "killed")], store)
    kept = sum(count(store).values())
    evaluate(tmp_path / "runs", "python", ask=ASK, limit=CLIPS, store=store)
    rows, results, usage = read(tmp_path / "runs")
    assert (rows, results) == one[1][:2]
    assert 1 <= kept == CLIPS - usage.get("asr_clips", 0)
    assert rows_of(store) == rows_of(one[0] / "store")
