"""Runs under a condition: two processes, and a killed run that goes on, give the bytes of one process."""

import pytest

from tests.harness_patch.test_ranks import evaluate, read
from tests.harness_patch.test_resume import count, run_killed

pytestmark = pytest.mark.slow

CLIPS = 3


def rows_of(store):
    """Return the lines of all rows of a store, without the time and the process in which they were computed."""
    return sorted(line for file in store.rglob("*.jsonl") for line in file.read_bytes().splitlines())


@pytest.fixture(scope="module")
def ask(tiny_cascade):
    system = ("--model", "hf-audio", "--model_args", f"pretrained={tiny_cascade.spec}")
    condition = ("--metadata", "condition=babble:2@6dB+white@10dB")
    return (*system, "--tasks", "siq_demo_remember", *condition, "--batch_size", "1", "--log_samples")


@pytest.fixture(scope="module")
def one(ask, tmp_path_factory):
    """Return a run of one process: its place, and what it gave."""
    folder = tmp_path_factory.mktemp("one")
    evaluate(folder / "runs", ask=ask, limit=CLIPS, store=folder / "store")
    return folder, read(folder / "runs")


def test_two_processes_add_the_same_noise(ask, one, tmp_path):
    evaluate(tmp_path / "runs", ask=ask, limit=CLIPS, nodes=(2,), store=tmp_path / "store")
    rows, results, usage = read(tmp_path / "runs")
    assert (rows, results) == one[1][:2] and len(rows) == CLIPS
    assert usage["asr_clips"] == CLIPS
    assert rows_of(tmp_path / "store") == rows_of(one[0] / "store")


def test_a_killed_run_goes_on_with_the_same_noise(ask, one, tmp_path):
    store = tmp_path / "store"
    run_killed(2, [*ask, "--limit", str(CLIPS), "--output_path", str(tmp_path / "killed")], store)
    assert sum(count(store).values()) == 2
    evaluate(tmp_path / "runs", ask=ask, limit=CLIPS, store=store)
    rows, results, usage = read(tmp_path / "runs")
    assert (rows, results) == one[1][:2] and usage["asr_clips"] == CLIPS - 2
    torn = [line for line in rows_of(store) if line not in rows_of(one[0] / "store")]
    assert len(torn) == 1 and len(rows_of(store)) == CLIPS + 1
