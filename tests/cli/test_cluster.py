"""`siq plan` and `siq launch`: the work that is left, jobs on this machine and on a Slurm of two scripts."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from speechiq.cli.cluster.command import describe_left, list_next, read_plan
from speechiq.cli.cluster.jobs import Jobs, ShardJob, lock_file, read_jobs, read_state, submit
from speechiq.core.batches import count_cores
from speechiq.core.cache.stage_cache import StageCount
from speechiq.harness_patch import processes
from speechiq.harness_patch.plan import PlanFile, eval_command
from speechiq.harness_patch.work import PlannedWork, SystemWork, TaskWork
from tests.commands import call, refusal, siq

PLAN = {"systems": ["letter:B"], "tasks": ["siq_demo_apply"], "shards": 2, "limit": 2, "output": "out"}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a plan into the working folder, with a response cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))

    def write(**changes):
        tmp_path.joinpath("plan.yaml").write_text(yaml.safe_dump(PLAN | changes))
        return "plan.yaml"

    return write


@pytest.mark.parametrize(
    "changes, fault",
    [
        ({"system": ["demo"]}, "Object contains unknown field `system`"),
        ({"systems": "demo"}, "Expected `array`, got `str` - at `$.systems`"),
        ({"systems": []}, "has no system or no condition"),
        ({"shards": 0}, "Expected `int` >= 1 - at `$.shards`"),
        ({"limit": -5}, "Expected `int` >= 1 - at `$.limit`"),
        ({"seed": -1}, "Expected `int` >= 0 - at `$.seed`"),
        ({"seed": 2**32}, "Expected `int` <= 4294967295 - at `$.seed`"),
        ({"stages": "asr,embd"}, "'embd' is not a stage; did you mean embed?"),
        ({"conditions": ["clean", "whte@10dB"]}, "unknown condition 'whte'; did you mean white?"),
        ({"systems": ["pretrained=demo"]}, "begins with no spec"),
        ({"systems": ["demo,num_beams=5", "demo, num_beams=5"]}, "demo,num_beams=5: is named 2 times; leave one"),
        ({"conditions": ["clean", "clean"]}, "clean: is named 2 times; leave one"),
    ],
)
def test_a_plan_that_is_wrong_is_one_line(write, changes, fault):
    for command in (("plan",), ("launch", "--on", "local")):
        error = refusal(*command, write(**changes))
        assert error.startswith("'plan.yaml'") and fault in error


def test_spaces_around_the_options_of_a_system_mean_nothing(write):
    assert read_plan(Path(write(systems=["demo, num_beams=5 "]))).systems == ("demo,num_beams=5",)


def test_a_plan_that_is_missing_or_no_yaml_is_one_line(write, tmp_path):
    assert "'none.yaml': cannot be read (No such file" in refusal("plan", "none.yaml")
    plan = yaml.safe_dump(PLAN)
    for text, fault in {
        "systems: [": "while parsing",
        "[" * 1000: "nested too deeply",
        f"{plan}slurm: &options {{more: *options}}\n": "alias *options is not allowed",
        f"{plan}slurm: {{a: &a [x, x], b: [*a, *a]}}\n": "alias *a is not allowed",
    }.items():
        tmp_path.joinpath("plan.yaml").write_text(text)
        error = refusal("launch", "--on", "local", "plan.yaml")
        assert error.startswith("'plan.yaml': is not a plan") and fault in error


def test_the_commands_of_a_shard_have_all_options_of_the_plan(write):
    options = {"conditions": ["clean", "white@10dB"], "metadata": ["subset=all"], "stages": "asr", "device": "cpu"}
    first, second = read_plan(Path(write(**options))).shard_commands(2)
    assert " ".join(first) == (
        "siq eval letter:B --tasks siq_demo_apply --output out --limit 2 --device cpu --metadata subset=all "
        "--shard 2/2 --stages asr"
    )
    assert "subset=all --metadata condition=white@10dB" in " ".join(second)


def test_hours_are_those_of_the_missing_rows_at_the_measured_speed():
    tasks = [TaskWork("remember", 10, 10, 3600.0, "siq", "remember"), TaskWork("apply", 30, 10, 3600.0, "siq", "apply")]
    system = SystemWork("a+b,x=1", "a+b", [StageCount("asr", 10, 10), StageCount("text", 30, 15)], complete=False)
    work = PlannedWork(tasks, [system], 10, 3600.0, {})
    speeds = {("transcribing", "a"): 10.0, ("answering", "b"): 0.5}
    asr, llm = describe_left(system, work, speeds)
    assert (asr["rows"], asr["cached"], asr["audio"], asr["hours"]) == (10, 10, 0.0, 0.0)
    assert llm["stage"].startswith("llm") and (llm["audio"], llm["hours"]) == (1.5, 3.0)
    assert [row["hours"] for row in describe_left(system, work, {})] == [0.0, None]
    assert [row["stage"] for row in describe_left(system, work, {}, ["asr"])] == [
        "asr",
        "llm, not in this plan, later ones unknown",
    ]
    judged = SystemWork("a", "a", [StageCount("judge", 4, 1)], complete=False)
    assert [(row["audio"], row["hours"]) for row in describe_left(judged, work, speeds)] == [(None, None)]


def test_the_work_of_a_plan_is_printed_with_the_commands_that_follow(write):
    printed = siq("plan", write(conditions=["clean", "white@10dB"]))
    assert "no model" in printed and "2 clips, 0.0" in printed and "siq launch plan.yaml --on local" in printed
    assert printed.splitlines()[-1].endswith("--limit 2 --metadata condition=white@10dB --require-cached")


@pytest.mark.parametrize(
    "stages, left, line",
    [
        (None, {"asr"}, "siq launch plan.yaml --on local  # or: --on slurm; then each condition is collected by"),
        ("asr", {"asr"}, "siq launch plan.yaml --on local  # or: --on slurm; then `siq plan plan.yaml` shows which"),
        (
            "asr",
            {"llm"},
            "# plan.yaml computes none of the rows that are left; write stages: llm, or leave stages: out",
        ),
        ("asr", set(), "siq launch plan.yaml --on local  # or: --on slurm; then each condition is collected by"),
    ],
)
def test_results_are_collected_once_no_stage_is_left_out(write, stages, left, line):
    first, *others = list_next(Path("plan.yaml"), read_plan(Path(write(stages=stages))), left)
    assert first.startswith(line) and bool(others) == first.endswith("collected by")


@pytest.mark.slow
def test_after_the_shards_of_some_stages_the_work_that_is_left_is_shown(write, quick):
    done = call("launch", write(stages="asr", shards=1), "--on", "local")
    assert "siq: 1 shard finished, with stages: asr; what is left is shown by" in done.stderr
    assert done.stdout == "siq plan plan.yaml\n"


def test_a_plan_of_systems_with_one_name_in_results_is_refused_before_shards_fail(write, monkeypatch):
    systems = [SystemWork("demo", "demo", [], complete=True), SystemWork("demo,x=1", "demo", [], complete=True)]
    monkeypatch.setattr(processes, "count_work", lambda plan: PlannedWork([], systems, 0, 0.0, {}))
    error = refusal("plan", write(systems=["demo", "demo,x=1"]))
    assert error == "demo: 2 of the systems are called demo in results; leave one"


def test_without_slurm_and_without_submitit_it_is_one_line(write, monkeypatch, tmp_path):
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "submitit", None)
        error = refusal("launch", write(), "--on", "local")
    assert "the package submitit is not installed; `pip install submitit`" in error and "'.[launch]'" in error
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal("launch", "plan.yaml", "--on", "slurm").startswith("--on slurm: Slurm is not installed here")


SBATCH = """#!/bin/sh
cp "$1" "$(dirname "$0")/submitted.sh"
echo "$@" >> "$(dirname "$0")/sbatch.calls"
echo "Submitted batch job 4711"
"""


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A Slurm that records what it is given and runs nothing."""
    pytest.importorskip("submitit")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, content in {"sbatch": SBATCH, "srun": "#!/bin/sh\n", "sacct": "#!/bin/sh\necho 'JobID|State'\n"}.items():
        folder.joinpath(name).write_text(content)
        folder.joinpath(name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.fixture
def one_look(monkeypatch):
    """A watch that Ctrl-C ends after the first look."""

    def stop(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("speechiq.cli.cluster.command.sleep", stop)


def test_slurm_gets_one_array_that_may_be_requeued(write, slurm, one_look):
    plan = write(shards=3, slurm={"partition": "gpu", "gpus_per_node": 1, "time": 90})
    done = call("launch", plan, "--on", "slurm")
    assert done.exit_code == 130, done.output
    assert "the jobs go on: `siq launch plan.yaml --on slurm` shows them again; scancel 4711 ends them" in done.stderr
    script = slurm.joinpath("submitted.sh").read_text()
    for option in ("array=0-2%3", "partition=gpu", "gpus-per-node=1", "time=90", "requeue", "signal=USR2@90"):
        assert f"#SBATCH --{option}\n" in script
    assert "\nsrun " in script and read_jobs(Path("out")).ids == {1: "4711_0", 2: "4711_1", 3: "4711_2"}
    again = call("launch", plan, "--on", "slurm")
    assert "siq: 0 shards started, 3 known" in again.stderr and "shard 1/3: running: waiting" in again.stderr
    assert len(slurm.joinpath("sbatch.calls").read_text().splitlines()) == 1
    shard = ("eval", "letter:B", "--tasks", "siq_demo_apply", "-o", "out", "--shard", "1/3")
    assert refusal(*shard).startswith("no --limit: shards in out have --limit 2; give the options that they have")


def test_shards_with_other_options_than_those_that_run_are_one_line(write, slurm, one_look):
    call("launch", write(), "--on", "slurm")
    error = refusal("launch", write(limit=3), "--on", "slurm")
    assert "2 shards of another plan or with other options run in out; wait for them, end them (scancel 4711)" in error


def test_a_wrong_option_of_slurm_is_one_line(write, slurm):
    assert "slurm:" in refusal("launch", write(slurm={"queue": "gpu"}), "--on", "slurm")


def test_a_record_of_something_else_is_one_line(write, tmp_path):
    pytest.importorskip("submitit")
    tmp_path.joinpath("out", "jobs").mkdir(parents=True)
    tmp_path.joinpath("out", "jobs", "jobs.json").write_text("{}")
    assert "jobs.json': cannot be read" in refusal("launch", write(), "--on", "local")


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """Commands of shards that take no time: a module in the place of the command line, run by each job."""
    pytest.importorskip("submitit")
    package = tmp_path / "instead"
    package.mkdir()
    package.joinpath("sitecustomize.py").write_text(
        "import sys, os, time, signal\n"
        "if 'speechiq.cli.main' in sys.orig_argv:\n"
        "    part = sys.orig_argv[sys.orig_argv.index('--shard') + 1]\n"
        "    print(f'siq: [1/1] {part}', file=sys.stderr, flush=True)\n"
        "    open('threads-' + part[0], 'w').write(os.environ['OMP_NUM_THREADS'])\n"
        "    def stop(*_):\n"
        "        open('ended', 'w').close()\n"
        "        print('siq: shard was stopped after a batch; continue: again', file=sys.stderr, flush=True)\n"
        "        os._exit(0)\n"
        "    signal.signal(signal.SIGTERM, stop)\n"
        "    while os.path.exists('hold'): time.sleep(0.05)\n"
        "    if os.path.exists('broken-' + part[0]):\n"
        "        print('siq: error: no room', file=sys.stderr, flush=True)\n"
        "        os._exit(1)\n"
        "    print('siq: done', file=sys.stderr, flush=True)\n"
        "    os._exit(0)\n"
    )
    path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)


@pytest.mark.slow
def test_local_jobs_show_their_progress_and_failed_shards_start_again(write, quick, tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    tmp_path.joinpath("broken-2").touch()
    plan = write()
    error = refusal("launch", plan, "--on", "local")
    assert error.startswith(
        "shard 2/2: failed (no room); 1 of 2 shards are finished, `siq launch plan.yaml --on local`"
    )
    share = str(max(1, count_cores() // 2))
    assert [tmp_path.joinpath(f"threads-{number}").read_text() for number in (1, 2)] == [share, share]
    tmp_path.joinpath("broken-2").unlink()
    done = call("launch", plan, "--on", "local")
    assert done.exit_code == 0 and "siq: 1 shard started, 1 known" in done.stderr, done.output
    assert "siq: 2 shards finished; results come by" in done.stderr
    assert done.stdout.startswith("siq eval letter:B --tasks siq_demo_apply --output out --limit 2 --require-cached")


@pytest.mark.slow
def test_ctrl_c_leaves_local_jobs_which_end_after_a_batch_when_they_are_killed(write, quick, one_look, tmp_path):
    tmp_path.joinpath("hold").touch()
    done = call("launch", write(shards=1), "--on", "local")
    assert done.exit_code == 130 and "the jobs go on: `siq launch plan.yaml --on local` shows them" in done.stderr
    jobs = read_jobs(Path("out"))
    wait_for(jobs, "[1/1] 1/1")
    assert read_state(jobs, 1).state == "running"
    os.kill(int(jobs.ids[1]), signal.SIGTERM)
    wait_for(jobs, "was stopped after a batch")
    while read_state(jobs, 1).state == "running":
        time.sleep(0.05)
    assert read_state(jobs, 1).state == "stopped"


@pytest.mark.slow
def test_a_shard_that_survives_its_job_is_not_started_again(write, quick, one_look, tmp_path):
    tmp_path.joinpath("hold").touch()
    plan = write(shards=1)
    call("launch", plan, "--on", "local")
    jobs = read_jobs(Path("out"))
    wait_for(jobs, "[1/1] 1/1")
    job = int(jobs.ids[1])
    shard_job = int(Path(f"/proc/{job}/task/{job}/children").read_text())
    for process in (job, shard_job):
        os.kill(process, signal.SIGKILL)
    while Path(f"/proc/{shard_job}/exe").exists():
        time.sleep(0.05)
    again = call("launch", plan, "--on", "local")
    assert "siq: 0 shards started, 1 known" in again.stderr and "shard 1/1: running" in again.stderr, again.output
    end = re.search(r"; kill (\d+) ends them", again.stderr)
    assert Path(f"/proc/{end[1]}/cmdline").read_bytes().endswith(b"--shard\x001/1\x00")
    os.kill(int(end[1]), signal.SIGTERM)
    while (state := read_state(jobs, 1).state) == "running":
        time.sleep(0.05)
    assert state == "failed" and tmp_path.joinpath("ended").exists()


def test_a_stranger_with_the_number_of_a_job_is_not_the_job(write, monkeypatch):
    """Meet the number again after a container has restarted, whose processes are numbered anew."""
    pytest.importorskip("submitit")
    plan = read_plan(Path(write(shards=1)))
    Path("out", "jobs").mkdir(parents=True)
    with subprocess.Popen(["sleep", "300"]) as stranger:
        jobs = Jobs(plan, "local", {1: str(stranger.pid)})
        assert read_state(jobs, 1).state == "running", "it has not begun"
        with monkeypatch.context() as other_user:
            other_user.setattr(os, "kill", refuse_to_signal)
            assert read_state(jobs, 1).state == "failed"
        lock_file(plan, 1).touch()
        assert read_state(jobs, 1).state == "failed"
        stranger.kill()


def refuse_to_signal(process: int, number: int) -> None:
    raise PermissionError


def test_an_older_result_of_a_process_with_the_same_number_does_not_count(write, monkeypatch):
    submitit = pytest.importorskip("submitit")
    jobs = Jobs(read_plan(Path(write(shards=1))), "local")
    paths = submitit.core.utils.JobPaths(Path("out", "jobs"), job_id=str(os.getpid()), task_id=0)
    paths.result_pickle.parent.mkdir(parents=True)
    paths.result_pickle.write_bytes(pickle.dumps(("success", "finished")))
    job = submitit.LocalJob(Path("out", "jobs"), str(os.getpid()))
    monkeypatch.setattr(submitit.AutoExecutor, "map_array", lambda *_: [job])
    submit(jobs, [1])
    assert read_state(jobs, 1).state == "running"


def wait_for(jobs: Jobs, line: str) -> None:
    while line not in read_state(jobs, 1).line:
        assert read_state(jobs, 1).state != "failed", read_state(jobs, 1)
        time.sleep(0.05)


@pytest.mark.slow
def test_a_preempted_job_ends_its_batch_and_is_put_back(write, quick, tmp_path):
    """submitit's own signal, in its local executor, which starts the job again as a queue would."""
    tmp_path.joinpath("hold").touch()
    script = (
        "import signal, sys, time\nfrom pathlib import Path\n"
        "from speechiq.cli.cluster import jobs\nfrom speechiq.cli.cluster.command import read_plan\n"
        "record = jobs.Jobs(read_plan(Path('plan.yaml')), 'local')\njobs.submit(record, [1])\n"
    )
    write(shards=1)
    subprocess.run([sys.executable, "-c", script], check=True)
    jobs = read_jobs(Path("out"))
    wait_for(jobs, "[1/1] 1/1")
    children = Path(f"/proc/{jobs.ids[1]}/task/{jobs.ids[1]}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGUSR2)
    log = tmp_path / "out" / "jobs" / f"{jobs.ids[1]}_0_log.err"
    while log.read_text().count("[1/1] 1/1") < 2:
        time.sleep(0.05)
    assert tmp_path.joinpath("ended").exists(), "the shard has ended its batch before the job goes"
    tmp_path.joinpath("hold").unlink()
    while read_state(jobs, 1).state == "running":
        time.sleep(0.05)
    assert read_state(jobs, 1).state == "finished"


PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "cluster.md"


def test_the_job_files_of_the_docs_are_valid(write, tmp_path):
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    plan, kubernetes = (yaml.safe_load(block) for kind, block in blocks if kind == "yml")
    tmp_path.joinpath("plan.yaml").write_text(yaml.safe_dump(plan))
    assert read_plan(Path("plan.yaml")).shards == plan["shards"] == kubernetes["spec"]["completions"]
    (container,) = kubernetes["spec"]["template"]["spec"]["containers"]
    scripts = [*container["args"], *(block for kind, block in blocks if kind == "sh")]
    assert len(scripts) == 4 and all("siq eval" in script and "--shard" in script for script in scripts)
    for script in scripts:
        assert subprocess.run(["bash", "-n", "-c", script]).returncode == 0
    for block in (block for kind, block in blocks if kind == "py"):
        compile(block, "job file", "exec")


def test_a_job_is_pickled_without_its_process():
    plan = PlanFile(("letter:B",), ("siq_demo",), "out")
    job = pickle.loads(pickle.dumps(ShardJob(plan, "local", {1: "0"})))
    assert job.plan == plan and job.devices == {1: "0"}
    assert json.loads(json.dumps(eval_command(job.plan.under("clean"))))[0] == "siq"
