"""Several processes give what one gives: real processes, started as a user starts them."""

import json
import os
import re
import threading

import pytest

from speechiq.harness_patch.ranks import assign
from tests.conftest import run
from tests.served import free_port

pytestmark = pytest.mark.slow

SYSTEM = "pretrained=demo:whisper-tiny.en+demo:SmolLM2-135M-Instruct,llm_answer=likelihood"
ASK = ("--model", "hf-audio", "--model_args", SYSTEM, "--tasks", "siq_demo", "--batch_size", "4", "--log_samples")
CPU = os.environ | {"ACCELERATE_USE_CPU": "true", "LMEVAL_LOG_LEVEL": "ERROR", "OMP_NUM_THREADS": "1"}
LAUNCH = "accelerate", "launch", "--multi_gpu", "--main_process_port", "0", "--num_processes"
TIMES = ("doc_hash", "prompt_hash", "target_hash")


def evaluate(folder, *launch, ask=ASK, limit=5, expect=0, store="off"):
    command = (*launch, "-m", "lm_eval", *ask, "--limit", str(limit), "--output_path", str(folder))
    done = run(*command, env=CPU | {"SIQ_STORE": str(store)})
    assert done.returncode == expect, done.stderr[-3000:]
    return done.stderr


def read(folder):
    """Rows by task and doc, the aggregated results, and what was done, of the one run in `folder`."""
    (file,) = folder.rglob("results_*.json")
    results = json.loads(file.read_text())
    rows = {}
    for samples in folder.rglob("samples_*.jsonl"):
        for line in samples.read_text().splitlines():
            row = json.loads(line)
            key = samples.name.partition("_2")[0], row["doc_id"]
            assert key not in rows, "a doc was answered twice"
            rows[key] = {name: value for name, value in row.items() if name not in TIMES}
    return rows, results["results"], results["config"]["siq"]["usage"]


@pytest.fixture(scope="module")
def one(demo_models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    evaluate(folder, "python")
    return read(folder)


@pytest.fixture(scope="module", params=["2", "3"])
def several(request, demo_models, tmp_path_factory):
    """A run of several processes that share a store: its place, and its output."""
    folder = tmp_path_factory.mktemp("several")
    return folder, evaluate(folder / "runs", *LAUNCH, request.param, store=folder / "store")


def test_uneven_shards_give_the_same_rows_and_scores(one, several):
    rows, results, usage = read(several[0] / "runs")
    assert rows == one[0]
    assert results == one[1]
    assert usage["asr_clips"] == one[2]["asr_clips"] == 5
    assert usage["prefills"] == one[2]["prefills"]
    assert len(set(re.findall(r"transcribing: 100%.*?(\d+/\d+)", several[1]))) == 1


@pytest.mark.parametrize("several", ["2"], indirect=True)
def test_what_several_processes_kept_one_reads_and_computes_nothing(one, several, tmp_path):
    evaluate(tmp_path, "python", store=several[0] / "store")
    assert read(tmp_path) == (*one[:2], {})


def test_two_nodes_on_loopback_are_ranked_by_the_global_index(one, tmp_path):
    port = str(free_port())
    node = ("accelerate", "launch", "--multi_gpu", "--num_machines", "2", "--num_processes", "2",
            "--main_process_ip", "127.0.0.1", "--main_process_port", port, "--machine_rank")  # fmt: skip
    other = threading.Thread(target=evaluate, args=(tmp_path / "b", *node, "1"))
    other.start()
    evaluate(tmp_path / "a", *node, "0")
    other.join()
    assert read(tmp_path / "a")[:2] == one[:2]
    assert not list((tmp_path / "b").rglob("results_*.json"))


PEERS = """
import sys
import torch
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.hf_audio import HFAudio
HFAudio("letter:B", device="cpu")
patience = torch.distributed.group.WORLD._get_backend(torch.device("cpu")).options._timeout
try:
    HFAudio("gold+nobody/nothing", device="cpu", llm_device_map="auto")
except SpeechIQError as error:
    sys.stdout.write(f"{patience.days} {error}\\n")  # one write, so two processes do not mix their lines
"""


def test_processes_wait_for_each_other_as_long_as_it_takes_and_none_spreads_a_model_over_all_devices(tmp_path):
    tmp_path.joinpath("peers.py").write_text(PEERS)
    done = run(*LAUNCH, "2", str(tmp_path / "peers.py"), env=CPU)
    line = (
        "364 llm_device_map=auto: 2 processes would each spread the model over the same accelerators; run one process"
    )
    assert done.stdout.count(line) == 2, done.stderr[-3000:]


ABORTS = """
import atexit, ctypes, time
from accelerate import PartialState
from speechiq.harness_patch.ending import Ending
ending = Ending()
atexit.register(ending.end)
rank = PartialState(cpu=True).process_index
if rank:
    libc = ctypes.CDLL(None)
    libc.on_exit(libc.abort, None)  # as threads of libraries do when a process exits
else:
    time.sleep(3)
ending.wait_for_all()
ending.leave_group()
print("written" if rank == 0 else "")
"""


def test_no_process_ends_before_the_results_are_written_or_by_an_abort(tmp_path):
    tmp_path.joinpath("aborts.py").write_text(ABORTS)
    done = run(*LAUNCH, "2", str(tmp_path / "aborts.py"), env=CPU)
    assert done.returncode == 0 and "written" in done.stdout, done.stderr[-3000:]


def test_fewer_docs_than_processes_is_one_line(demo_models, tmp_path):
    printed = evaluate(tmp_path, *LAUNCH, "2", limit=1, expect=1)
    assert "siq_demo_apply: 1 docs for 2 processes leave one without work; raise --limit" in printed


def test_a_clip_is_one_processes_and_the_work_is_even():
    owner = assign({f"clip {i}": 10.0 + i for i in range(9)}, 3)
    load = [sum(10.0 + i for i in range(9) if owner[f"clip {i}"] == rank) for rank in range(3)]
    assert max(load) - min(load) <= 10
