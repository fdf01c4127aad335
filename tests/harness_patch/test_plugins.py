"""Test how lm-eval comes to know the suite, in fresh interpreters where that depends on their start."""

import json
import os
from pathlib import Path

import pytest
from lm_eval.tasks import TaskManager, manager

from tests.conftest import run
from tests.warm import lm_eval, run_warm

pytestmark = pytest.mark.slow

STATE = """
import json, sys
{first}
from lm_eval.api.registry import model_registry
from lm_eval.models import MODEL_MAPPING
from lm_eval.tasks import TaskManager
manager = TaskManager(include_defaults=False)
print(json.dumps({{
    "models": sorted({{"audio-api", "hf", "hf-audio"}} & set(model_registry)),
    "tasks": manager.all_tasks,
    "finders": sum(type(finder).__name__ == "AfterImport" for finder in sys.meta_path),
}}))
"""


def start(first=""):
    done = run("python", "-c", STATE.format(first=first))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def state():
    """List the models and tasks that lm-eval knows in a fresh interpreter."""
    return start()


def test_lm_eval_knows_the_model_type_and_the_tasks_without_an_option(state):
    assert state["models"] == ["audio-api", "hf", "hf-audio"] and state["finders"] == 1
    assert {"siq_demo", "siq_demo_remember", "siq_demo_understand", "siq_demo_apply"} <= set(state["tasks"])


def test_installing_again_or_late_changes_nothing(state):
    install = "import speechiq.harness_patch.plugins as plugins; plugins.install()"
    assert start(f"{install}; import lm_eval.models; {install}") == state


def test_a_users_own_tasks_go_before_ours(tmp_path):
    tmp_path.joinpath("mine.yaml").write_text("task: siq_demo_remember\ndataset_path: json\n")
    tasks = TaskManager(include_defaults=False, include_path=str(tmp_path))
    assert tasks.include_path == str(tmp_path) and "siq_demo_apply" in tasks.all_tasks
    assert Path(tasks.task_index["siq_demo_remember"].yaml_path) == tmp_path / "mine.yaml"


def test_nothing_of_ours_but_the_finder_is_imported_at_start():
    program = "import sys; print([name for name in sys.modules if name.startswith('speechiq')])"
    imported = run("python", "-c", program).stdout
    assert imported.strip() == "['speechiq', 'speechiq.harness_patch', 'speechiq.harness_patch.plugins']"


@pytest.mark.parametrize(("own", "used"), [({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "9"}, "9")])
@pytest.mark.parametrize("program", ["import lm_eval; show()", "main.main = show; main.run_siq()"])
def test_threads_sleep_while_they_wait_unless_the_user_decided_otherwise(program, own, used):
    first = """
import os
from speechiq.cli import main
show = lambda: print(os.environ["OMP_WAIT_POLICY"], os.environ["OPENBLAS_THREAD_TIMEOUT"])
"""
    done = run("python", "-c", first + program, env=os.environ | own)
    assert done.stdout == f"PASSIVE {used}\n", done.stderr


def test_a_newer_lm_eval_that_reads_entry_points_still_reads_the_suite_alone():
    first = """
import lm_eval.api.registry as registry, lm_eval.tasks.manager as manager
registry.load_plugins = manager.discover_plugin_task_paths = lambda: None
from speechiq.harness_patch import _lm_eval
assert manager.TaskManager(include_defaults=False).all_tasks == _lm_eval.list_known_tasks() != []
"""
    state = start(first)
    assert "hf" in state["models"] and "siq_demo_apply" in state["tasks"]


def test_a_working_directory_with_folders_of_our_names_does_not_shadow_ours(tmp_path):
    for name in ("metrics", "speechiq"):
        tmp_path.joinpath(name).mkdir()
    tmp_path.joinpath("metrics.py").write_text("raise SystemExit('shadowed')")
    done = run("python", "-c", "import speechiq.metrics.words.wer as wer; print(wer.__file__)", cwd=tmp_path)
    assert done.returncode == 0 and str(tmp_path) not in done.stdout


def lm_eval_with_few_tasks():
    """Enter lm-eval, of whose own tasks there is one folder, since reading them all takes a minute."""
    manager.__file__ = str(Path(manager.__file__).with_name("hellaswag") / "manager.py")
    lm_eval()


@pytest.mark.parametrize("value", ["all", "only"])
def test_the_command_line_lists_the_suite_beside_lm_evals_own_tasks_or_alone(value):
    done = run_warm(lm_eval_with_few_tasks, "ls", "tasks", env=os.environ | {"SIQ_TASKS": value})
    assert done.returncode == 0 and "siq_demo_remember" in done.stdout
    assert ("hellaswag" in done.stdout) is (value == "all")


@pytest.mark.parametrize(
    ("model", "arguments", "more", "place"),
    [
        ("audio-api", "model=m,base_url=http://me:hunter2@127.0.0.1:9/v1", [], "base_url"),
        ("hf-audio", "pretrained=gold+openai:m,llm_base_url=http://a/v1?api_key=hunter2", [], "llm_base_url"),
        ("hf-audio", "pretrained=silence+x", ["--metadata", "mirror=https://hunter2@a/b"], "mirror"),
    ],
)
def test_an_address_with_a_secret_is_refused_before_lm_eval_logs_it(model, arguments, more, place, tmp_path):
    command = "--model", model, "--model_args", arguments, *more, "--tasks", "siq_demo_remember", "--output_path", "out"
    done = run_warm(lm_eval, *command, cwd=tmp_path)
    last = done.stderr.splitlines()[-1]
    assert done.returncode != 0 and last.startswith(f"siq: error: {model}: {place}: the address contains a "), (
        done.stderr
    )
    assert "hunter2" not in done.stdout + done.stderr and not list(tmp_path.rglob("*.json*"))
