"""Kill runs with noise, and rerun some that have all they need: real processes over a store of their own."""

import json
import os
import signal
import sys

import pytest

from speechiq.core.cache.row_files import CacheFile
from speechiq.core.cache.stages import list_stages
from tests.warm import lm_eval, run_warm

pytestmark = pytest.mark.slow


def signal_after(left, number):
    """Send a signal to this process when its response cache has `left` more rows; a kill leaves half of the next."""
    append = CacheFile.append

    def append_and_signal(file, lines):
        nonlocal left
        rows = lines.splitlines(keepends=True)
        if left < len(rows):
            if number is signal.SIGKILL:
                append(file, b"".join(rows[:left]) + rows[left][: len(rows[left]) // 2])
            os.kill(os.getpid(), number)
            left = sys.maxsize
        left -= len(rows)
        append(file, lines)

    CacheFile.append = append_and_signal


def lm_eval_until_killed():
    """Run lm-eval, and kill it in the middle of a write."""
    signal_after(int(sys.argv.pop(1)), signal.SIGKILL)
    lm_eval()


def environment(store):
    return os.environ | {"SIQ_STORE": str(store), "LMEVAL_LOG_LEVEL": "ERROR", "OMP_NUM_THREADS": "1"}


def count(store):
    return {stage.stage["stage"]: stage.rows for stage in list_stages(store)}


def run_killed(rows, arguments, store):
    """Start a run that is killed in the middle of a write, when the cache has `rows` more rows."""
    done = run_warm(lm_eval_until_killed, str(rows), *arguments, env=environment(store))
    assert done.returncode == -signal.SIGKILL, done.stderr[-3000:]


@pytest.fixture(scope="module")
def evaluate(tiny_cascade):
    """Return a function that runs a tiny cascade, and returns its samples and what it did."""
    noisy = tiny_cascade.ask("siq_demo", condition="babble:2@10dB+white@20dB")
    ask = (*noisy, "--batch_size", "1", "--limit", "4", "--device", "cpu")

    def evaluate(folder, store, killed_after=None):
        arguments = (*ask, "--output_path", str(folder))
        if killed_after is not None:
            return run_killed(killed_after, arguments, store)
        done = run_warm(lm_eval, *arguments, env=environment(store))
        assert done.returncode == 0, done.stderr[-3000:]
        (file,) = folder.rglob("results_*.json")
        samples = {path.name.partition("_2")[0]: path.read_bytes() for path in folder.rglob("samples_*.jsonl")}
        return samples, json.loads(file.read_text())["config"]["siq"]

    return evaluate


@pytest.fixture(scope="module")
def whole(evaluate, tmp_path_factory):
    """A run without interruption, and its store."""
    folder = tmp_path_factory.mktemp("whole")
    return *evaluate(folder / "runs", folder / "store"), folder / "store"


def test_a_run_that_is_killed_ends_with_the_same_samples(evaluate, whole, tmp_path):
    expected, described, _ = whole
    store, while_transcribing, while_answering = tmp_path / "store", 1, 5
    for rows in (while_transcribing, while_answering):
        evaluate(tmp_path / "killed", store, killed_after=rows)
    before = count(store)
    assert before["asr"] == 4 and sum(before.values()) == while_transcribing + while_answering
    samples, last = evaluate(tmp_path / "runs", store)
    assert samples == expected
    assert count(store) == count(whole[2])
    assert last["usage"].get("asr_clips", 0) == described["usage"]["asr_clips"] - before.get("asr", 0)
    questions, clips = 4, 2  # those about one clip share its transcript, and come before those without a clip
    read = max(0, before.get("text", 0) - questions + clips)
    assert last["usage"].get("prefills", 0) <= described["usage"]["prefills"] - read


def test_a_rerun_computes_nothing_and_loses_no_word(evaluate, whole, tmp_path):
    samples, described = evaluate(tmp_path, whole[2])
    assert samples == whole[0]
    assert described["usage"] == {} and described["system"] == whole[1]["system"]


def test_a_damaged_row_alone_is_computed_again(evaluate, whole, tmp_path):
    (asr,) = (stage.folder for stage in list_stages(whole[2]) if stage.stage["stage"] == "asr")
    (file,) = asr.glob("*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], lines[1][:40] + b"\n", *lines[2:]]))
    samples, described = evaluate(tmp_path, whole[2])
    assert samples == whole[0] and described["usage"] == {"asr_clips": 1}
    assert len(list(asr.glob("*.jsonl"))) == 2
