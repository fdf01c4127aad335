"""Test that several processes give what one gives, also with noise, by what `accelerate launch` sets or by itself."""

import json
import os

import pytest
import torch

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.hf_audio import HFAudio
from speechiq.harness_patch.jobs import assign
from tests.conftest import run
from tests.served import free_port
from tests.warm import lm_eval, run_warm, run_warm_ranks

pytestmark = pytest.mark.slow

CPU = os.environ | {"ACCELERATE_USE_CPU": "true", "LMEVAL_LOG_LEVEL": "ERROR", "OMP_NUM_THREADS": "1"}
LAUNCH = "accelerate", "launch", "--multi_gpu", "--main_process_port", "0", "--num_processes", "2"
LIMIT = 4
TIMES = ("doc_hash", "prompt_hash", "target_hash")


def evaluate(folder, *, ask, limit=LIMIT, nodes=(), fails=False, store="off"):
    """Run one process, or several on each of some nodes; return what they printed on stderr."""
    arguments = (*ask, "--limit", str(limit), "--output_path", str(folder))
    env = CPU | {"SIQ_STORE": str(store)}
    if nodes:
        ranks = run_warm_ranks(nodes, lm_eval, *arguments, env=env, port=free_port())
    else:
        ranks = [run_warm(lm_eval, *arguments, env=env)]
    printed = "\n".join(rank.stderr for rank in ranks)
    assert {bool(rank.returncode) for rank in ranks} == {fails}, printed[-3000:]
    return printed


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
def ask(tiny_cascade):
    return (*tiny_cascade.ask("siq_demo", condition="babble:2@10dB+white@20dB"), "--batch_size", "4")


@pytest.fixture(scope="module")
def one(ask, tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    evaluate(folder, ask=ask)
    return read(folder)


@pytest.fixture(scope="module")
def several(ask, tmp_path_factory):
    """Run three processes on two nodes that share a store, and return their folder."""
    folder = tmp_path_factory.mktemp("several")
    evaluate(folder / "runs", ask=ask, nodes=(2, 1), store=folder / "store")
    return folder


def test_uneven_shards_on_two_nodes_give_the_same_rows_and_scores_once(one, several):
    rows, results, usage = read(several / "runs")
    assert rows == one[0]
    assert results == one[1]
    assert usage["asr_clips"] == one[2]["asr_clips"] == LIMIT
    assert usage["prefills"] == one[2]["prefills"]


def test_what_several_processes_kept_one_reads_and_computes_nothing(ask, one, several, tmp_path):
    evaluate(tmp_path, ask=ask, store=several / "store")
    assert read(tmp_path) == (*one[:2], {})


def be_peers():
    """Print for how many days a process waits for another, and why it refuses a model on all devices."""
    HFAudio("letter:B", device="cpu")
    patience = torch.distributed.group.WORLD._get_backend(torch.device("cpu")).options._timeout
    try:
        HFAudio("gold+nobody/nothing", device="cpu", llm_device_map="auto")
    except SpeechIQError as error:
        print(patience.days, error)


def test_processes_wait_for_each_other_as_long_as_it_takes_and_none_spreads_a_model_over_all_devices():
    line = (
        "364 llm_device_map=auto: 2 processes would each spread the model over the same accelerators; run one process"
    )
    for rank in run_warm_ranks((2,), be_peers, env=CPU, port=free_port()):
        assert rank.stdout.startswith(line), rank.stderr[-3000:]


ABORTS = """
import atexit, ctypes, time
from accelerate import PartialState
from speechiq.harness_patch.command_line import Ending
ending = Ending()
atexit.register(ending.end)
rank = PartialState(cpu=True).process_index
if rank:
    libc = ctypes.CDLL(None)
    libc.on_exit(libc.abort, None)  # as threads of libraries do when a process exits
else:
    time.sleep(1)
ending.wait_for_all()
ending.leave_group()
print("written" if rank == 0 else "")
"""


def test_no_process_ends_before_the_results_are_written_or_by_an_abort(tmp_path):
    tmp_path.joinpath("aborts.py").write_text(ABORTS)
    done = run(*LAUNCH, str(tmp_path / "aborts.py"), env=CPU)
    assert done.returncode == 0 and "written" in done.stdout, done.stderr[-3000:]


def test_fewer_docs_than_processes_is_one_line(ask, tmp_path):
    printed = evaluate(tmp_path, ask=ask, limit=1, nodes=(2,), fails=True)
    assert "siq_demo_apply: 1 docs for 2 processes leave one without work; raise --limit" in printed


def test_a_clip_is_one_processes_and_the_work_is_even():
    owner = assign({f"clip {i}": 10.0 + i for i in range(9)}, 3)
    load = [sum(10.0 + i for i in range(9) if owner[f"clip {i}"] == rank) for rank in range(3)]
    assert max(load) - min(load) <= 10
