"""Task folders of somebody else: code that their YAML files name runs only with `--allow-code`."""

import json
from pathlib import Path

import pytest

from speechiq.cli.cluster.command import read_plan
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.foreign_code import check_settings
from speechiq.harness_patch.plan import Plan
from speechiq.harness_patch.processes import environment_of, work_command
from tests.commands import refusal
from tests.warm import run_warm, siq_work

pytestmark = pytest.mark.slow

#: Python code that leaves a trace if it is imported.
CODE = """
from pathlib import Path
Path(__file__).with_name("imported").touch()
def call(*args, **kwargs): raise SystemExit("called")
class Thing(list):
    def __init__(self, *args, **kwargs): raise SystemExit("called")
    compute = call
"""
TASK = """
task: theirs
dataset_path: json
dataset_kwargs: {data_files: rows.json}
test_split: train
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{question}}"
"""
#: What a task file has beside `TASK`, or instead of it -> the error.
FOLDERS = {
    "a function beside the file": (
        TASK + "process_docs: !function own.call\n",
        "mine.yaml': !function own.call is code that does not come with speechiq; add --allow-code",
    ),
    "a class in an include of an include": (
        "include: parts/one.yaml\ntask: theirs\n",
        "_two.yaml': !function own.Thing",
    ),
    "a loader": (TASK + "custom_dataset: !function own.call\n", "!function own.call"),
    "a filter": (TASK + "filter_list: [{name: a, filter: [{function: !function own.Thing}]}]\n", "!function own.Thing"),
    "a task inside a group": (
        "group: theirs\ntask: [{task: inner, process_docs: !function own.call, dataset_path: json}]\n",
        "!function own.call",
    ),
    "a file that has a name of the package": (
        TASK + "process_results: !function speechiq.metrics.choice.call\n",
        "!function speechiq.metrics.choice.call is code that does not come with speechiq",
    ),
    "a function of an installed package": (TASK + "doc_to_text: !function os.getcwd\n", "os.getcwd"),
    "what the package has imported": (
        TASK + "custom_dataset: !function speechiq.siq_tasks.catalog.data_sets.import_module\n",
        "data_sets.import_module is code that does not come with speechiq",
    ),
    "a metric that is a script": (TASK + "metric_list: [{metric: ./own.py}]\n", "./own.py: not a metric of lm-eval"),
    "a metric of lm-eval's name that is a script": (
        TASK + "metric_list: [{metric: exact_match, hf_evaluate: true}]\n",
        "metric_list: exact_match",
    ),
    "a template that reaches Python": (
        TASK.replace("{{question}}", "{{cycler.__init__.__globals__.os.system('touch imported')}}"),
        "template: .__init__: leads to code outside of the template",
    ),
    "a data set that is a script": (TASK.replace("path: json", "path: ./own.py"), "own.py"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a function that makes a folder of task files, beside code that must not be imported."""
    monkeypatch.chdir(tmp_path)

    def make(task: str, file: str = "mine.yaml") -> Path:
        place = tmp_path / "folder"
        files = {file: task, "own.py": CODE, "speechiq/metrics/choice.py": CODE}
        if "include" in task:
            files |= {"parts/one.yaml": "include: ../_two.yaml\n", "_two.yaml": TASK + "class: !function own.Thing\n"}
        for name, content in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(content)
        Path("own.py").write_text(CODE)
        Path("rows.json").write_text('[{"question": "What?"}]')
        return place

    return make


def check(folder: Path, *, allow_code: bool = False):
    """Check the task of a folder in a process of its own, as `siq eval` does before it runs systems."""
    plan = Plan(("letter:A",), ("theirs",), "out", batch_size=1, include_path=str(folder), allow_code=allow_code)
    return run_warm(siq_work, *work_command("count", plan)[1], env=environment_of(plan))


@pytest.mark.parametrize("task, fault", FOLDERS.values(), ids=FOLDERS.keys())
def test_no_code_that_a_task_file_names_is_imported(folder, tmp_path, task, fault):
    done = check(folder(task))
    assert done.returncode and fault in done.stderr.splitlines()[-1], done.stderr
    assert not list(tmp_path.rglob("imported"))


def test_code_that_is_allowed_runs(folder):
    done = check(folder(FOLDERS["a loader"][0]), allow_code=True)
    assert "called" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "eval letter:A --include-path folder --tasks theirs -o out --dry-run",
        "eval letter:A --tasks folder/mine.yaml -o out",
        "eval letter:A --include-path folder --tasks theirs -o out --shard 1/2",
        "plan plan.yaml",
    ],
)
def test_commands_refuse_code_unless_it_is_allowed(folder, tmp_path, monkeypatch, command):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    folder(FOLDERS["a loader"][0])
    plan = {"systems": ["letter:A"], "tasks": ["theirs"], "output": "out", "include_path": "folder"}
    Path("plan.yaml").write_text(json.dumps(plan))
    assert "!function own.call is code" in refusal(*command.split())
    assert not list(tmp_path.rglob("imported"))
    Path("plan.yaml").write_text(json.dumps(plan | {"allow_code": True}))
    allowed = command.split() if command.startswith("plan") else [*command.split(), "--allow-code"]
    assert "called" in refusal(*allowed) and list(tmp_path.rglob("imported"))


@pytest.mark.parametrize("command", ["data check folder", "list tasks folder", "data pack folder"])
def test_commands_that_read_a_folder_import_nothing(folder, tmp_path, command):
    task = TASK.replace("theirs", "siq_theirs_remember")
    loader = "custom_dataset: !function own.call\nmetadata: {dataset: theirs}\n"
    folder(task + loader, "siq_theirs_remember.yaml")
    assert "is not a loader of speechiq" in refusal(*command.split())
    assert not list(tmp_path.rglob("imported"))


@pytest.mark.parametrize(
    "metadata, fault",
    [
        ({"judge_trust_remote_code": True}, "judge_trust_remote_code: True runs code of a model or data set"),
        ({"dataset_kwargs": {"trust_remote_code": True}}, "runs code of a model or data set"),
        ({"judge_base_url": "http://elsewhere"}, "an option of the judge's engine; give it with --metadata, or add"),
        ({"reader_base_url": "http://elsewhere"}, "an option of the reader's engine; give it with --metadata, or add"),
    ],
)
def test_settings_of_engines_are_the_users(tmp_path, metadata, fault):
    with pytest.raises(SpeechIQError, match=fault):
        check_settings(tmp_path / "mine.yaml", {"task": "theirs", "metadata": metadata})
    check_settings(
        tmp_path / "mine.yaml", {"metadata": {"judge": "demo:a", "judge_draws": 3, "reader_max_gen_toks": 9}}
    )


def test_a_plan_records_that_code_is_allowed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    Path("mine").mkdir()
    Path("plan.yaml").write_text("{systems: [letter:A], tasks: [a], output: out, include_path: mine, allow_code: true}")
    plan = read_plan(Path("plan.yaml"))
    assert plan.under("clean").allow_code and "--allow-code" in plan.shard_commands(1)[0]
