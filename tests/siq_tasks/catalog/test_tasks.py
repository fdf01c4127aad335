"""The list of the suite's tasks, read from their YAMLs."""

import pytest
from lm_eval.tasks import TaskManager

from speechiq.harness_patch.command_line import PREFIXES
from speechiq.siq_tasks.index import HERE, LEVELS, SUITE, TaskInfo, data_sets, list_tasks, read_task
from tests.conftest import run

#: Group of the demo's clips under conditions.
NOISY = "siq_demo_noisy"


def by_name(**options) -> dict[str, TaskInfo]:
    return {task.name: task for task in list_tasks(**options)}


def list_files() -> list[TaskInfo]:
    """The tasks of SIQ that have a file, without those of noise."""
    return [task for task in list_tasks() if task.suite == SUITE and NOISY not in task.groups and not task.family]


def test_every_task_and_group_of_the_suite_is_listed_once():
    names = [task.name for task in list_files()]
    asked = {dataset: LEVELS[:2] if dataset.endswith("_cleaned") else LEVELS for dataset in data_sets()}
    assert names == [f"siq_{dataset}_{level}" for dataset, levels in asked.items() for level in levels]
    listed = set[str]().union(*(task.names for task in list_tasks()))
    known = TaskManager(include_path=str(HERE), include_defaults=False)
    assert listed == {name for name in known.all_tasks if name.startswith(PREFIXES)}


def test_groups_are_those_that_lm_eval_expands():
    for task in list_files():
        nearest, *others = task.group.split(", ")
        assert nearest == f"siq_{task.dataset}"
        if task.dataset in ("earnings22", "medasr", "voxpopuli"):
            assert others == [f"siq_{task.level}", "siq_all"]
        else:
            assert others == (["siq_paper"] if task.dataset.startswith("paper_") else [])


def test_every_language_has_three_levels_and_the_group_some():
    tasks = [task for task in list_tasks() if task.family == "belebele"]
    languages = {task.dataset.removeprefix("belebele_") for task in tasks}
    assert len(languages) == 92 and languages >= {"deu_Latn", "zho_Hans", "yor_Latn"}
    assert {task.name for task in tasks} == {f"siq_belebele_{code}_{level}" for code in languages for level in LEVELS}
    chosen = {task.dataset for task in tasks if not task.is_further_language}
    assert 10 <= len(chosen) <= 12 and len({name.rpartition("_")[2] for name in chosen}) >= 10
    task = by_name()["siq_belebele_deu_Latn_apply"]
    assert (task.group, task.source) == ("siq_belebele_deu_Latn", "WueNLP/belebele-fleurs (deu_Latn, test)")
    assert task.needs == "data set from the Hub" and not task.needs_questions


def test_a_task_has_the_facts_of_its_yaml():
    task = by_name()["siq_voxpopuli_remember"]
    assert (task.dataset, task.level, task.clips) == ("voxpopuli", "remember", 200)
    assert task.source == "hf-audio/esb-datasets-test-only-sorted (voxpopuli, test)"
    assert (task.revision, task.measure, task.direction) == ("main", "wer", "lower")
    assert by_name()["siq_medasr_apply"].clips == 400
    embedder = read_task(HERE / "medasr" / "siq_medasr_understand.yaml")["metadata"]["embedder"]
    assert f"embedder {embedder}" in by_name()["siq_medasr_understand"].needs


def test_the_demo_needs_nothing_from_the_hub():
    remember, understand, apply = (by_name()[f"siq_demo_{level}"] for level in LEVELS)
    assert [task.clips for task in (remember, understand, apply)] == [14, 14, 14]
    assert {task.source for task in (remember, understand, apply)} == {"in the package"}
    assert [task.needs for task in (remember, understand, apply)] == ["", "embedder demo:SmolLM2-135M-Instruct", ""]


def test_the_demo_is_there_under_four_conditions():
    noisy = [task for task in list_tasks() if NOISY in task.groups]
    assert len(noisy) == 12 and {task.clips for task in noisy} == {14} and {task.dataset for task in noisy} == {"demo"}
    about = [read_task(HERE / "demo" / "noisy" / f"{task.name}.yaml") for task in noisy]
    conditions = [(each["condition"], each["metadata"]["level"]) for each in about]
    assert len(set(conditions)) == 12 and len({condition for condition, _ in conditions}) == 4
    for each in about:
        clean = read_task(HERE / "demo" / f"siq_demo_{each['metadata']['level']}.yaml")
        each.pop("condition")
        assert each | {"task": clean["task"], "tag": clean["tag"]} == clean


@pytest.mark.parametrize(("written", "state"), [(True, "present"), (False, "missing: `siq data questions`")])
def test_a_question_file_is_searched_for(tmp_path, monkeypatch, written, state):
    monkeypatch.setenv("SIQ_QUESTIONS", str(tmp_path))
    if written:
        tmp_path.joinpath("medasr.jsonl").write_text("")
    needs = "data set from the Hub, question file"
    assert by_name()["siq_medasr_apply"].needs == f"{needs} ({state})"
    assert by_name(check_files=False)["siq_medasr_apply"].needs == needs


def test_the_list_imports_no_heavy_package():
    program = "import sys; from speechiq.siq_tasks.index import list_tasks; list_tasks(); print(*sys.modules)"
    loaded = run("python", "-c", program).stdout.split()
    assert not {"torch", "lm_eval", "datasets", "transformers", "numpy"} & set(loaded)
