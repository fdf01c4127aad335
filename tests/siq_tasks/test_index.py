"""Test the index of tasks: the tasks of the package, and the refusals of folders made by others."""

import pytest
from lm_eval.tasks import TaskManager

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.command_line import PREFIXES
from speechiq.metrics.distance.readers import DEFAULT_EMBEDDER
from speechiq.siq_tasks.catalog.data_sets import describe_data_set, list_clips, place_questions
from speechiq.siq_tasks.index import (
    HERE,
    IN_PACKAGE,
    LARGEST,
    LEVELS,
    SUITE,
    TaskInfo,
    data_sets,
    list_language_tasks,
    list_names,
    list_tasks,
    read_task,
)
from tests.conftest import run


def test_names_for_tasks_are_those_that_lm_eval_finds():
    assert list_names() == set(TaskManager(include_defaults=False).all_tasks)


#: Group of the demo's clips under conditions.
NOISY = "siq_demo_noisy"


def by_name(**options) -> dict[str, TaskInfo]:
    return {task.name: task for task in list_tasks(**options)}


def list_files() -> list[TaskInfo]:
    """Return the tasks of SIQ that have a file, without those of noise."""
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
    chosen = {task.dataset for task in tasks if not task.is_outside_short_lists}
    assert 10 <= len(chosen) <= 12 and len({name.rpartition("_")[2] for name in chosen}) >= 10


SHARED = {"clips": 14, "source": IN_PACKAGE}
FACTS = {
    "siq_voxpopuli_remember": {
        "dataset": "voxpopuli", "level": "remember", "clips": 200, "revision": "main", "measure": "wer",
        "direction": "lower", "source": "hf-audio/esb-datasets-test-only-sorted (voxpopuli, test)",
    },
    "siq_medasr_apply": {"clips": 400},
    "siq_belebele_zho_Hans_remember": {"measure": "cer", "direction": "lower"},
    "audiobench_seame_dev_man": {"measure": "mer"},
    "siq_medasr_understand": {"needs": f"data set from the Hub, embedder {DEFAULT_EMBEDDER}"},
    "siq_belebele_deu_Latn_apply": {
        "group": "siq_belebele_deu_Latn", "source": "WueNLP/belebele-fleurs (deu_Latn, test)",
        "needs": "data set from the Hub", "needs_questions": False,
    },
    "siq_demo_remember": SHARED | {"needs": ""},
    "siq_demo_understand": SHARED | {"needs": "embedder demo:SmolLM2-135M-Instruct"},
    "siq_demo_apply": SHARED | {"needs": ""},
}  # fmt: skip


@pytest.mark.parametrize(("name", "facts"), FACTS.items(), ids=FACTS)
def test_a_task_has_the_facts_of_its_yaml(name, facts):
    task = by_name()[name]
    assert {field: getattr(task, field) for field in facts} == facts


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


def test_the_list_imports_no_heavy_package_and_lm_evals_index_no_models():
    program = (
        "import sys; from speechiq.siq_tasks.index import list_tasks; list_tasks(); print(*sys.modules); "
        "from lm_eval.tasks import TaskManager; names = TaskManager(include_defaults=False).all_tasks; "
        f"print({NAME!r} in names, 'torch' in sys.modules)"
    )
    loaded, of_lm_eval = run("python", "-c", program).stdout.splitlines()
    assert not {"torch", "lm_eval", "datasets", "transformers", "numpy"} & set(loaded.split())
    assert of_lm_eval == "True False"


NAME = "siq_belebele_deu_Latn_remember"


def test_every_language_is_a_task_and_a_group_of_lm_eval():
    manager = TaskManager(include_defaults=False)
    assert {task.name for task in list_language_tasks()} <= set(manager.all_subtasks)
    assert manager.task_index["siq_belebele_deu_Latn"].tags == {
        f"siq_belebele_deu_Latn_{level}" for level in ("remember", "understand", "apply")
    }
    assert "siq_belebele_eng_Latn_apply" in manager.task_index["siq_belebele"].tags
    assert NAME not in manager.task_index["siq_belebele"].tags


def test_the_embedder_of_understand_is_named_by_language():
    tasks = {task.name: task.read()["metadata"] for task in list_language_tasks() if "belebele" in task.name}
    names = {name: about["embedder"] for name, about in tasks.items() if "embedder" in about}
    assert len(names) == 92 and all(name.endswith("_understand") for name in names)
    assert list(names.values()).count("meta-llama/Llama-3.1-8B-Instruct") == 8
    assert names["siq_belebele_eng_Latn_understand"] == "meta-llama/Llama-3.1-8B-Instruct"
    assert names["siq_belebele_tam_Taml_understand"] == "Qwen/Qwen3-8B"


def test_a_file_of_the_user_with_the_same_name_wins(tmp_path):
    file = tmp_path / f"{NAME}.yaml"
    file.write_text(f"task: {NAME}\ndataset_path: mine\n")
    index = TaskManager(include_defaults=False, include_path=str(tmp_path)).task_index
    assert index[NAME].yaml_path == file and index["siq_belebele_fra_Latn_remember"].yaml_path is None


def test_a_language_is_described_without_its_clips():
    first, second, *others = describe_data_set("belebele_zho_Hans")
    assert first == "data set: belebele_zho_Hans, version 1.0" and second.endswith("all three: siq_belebele_zho_Hans")
    assert others == [
        "rows: WueNLP/belebele-fleurs, zho_Hans, test",
        "clips: passages, first recording of each sentence, pauses of 0.5 s",
    ]


TASK = """
task: siq_x_remember
custom_dataset: !function {loader}
metadata: {metadata}
"""
OURS = "speechiq.siq_tasks.loaders.clips.load"


def write(folder, text):
    folder.joinpath("siq_x_remember.yaml").write_text(text)
    return str(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not valid YAML"),
        ("a: !python/object/apply:os.system [ls]", "not valid YAML"),
        ("a: !function [x]", "not valid YAML"),
        ("a: " + "9" * 5000, "not valid YAML"),
        ("a: 2026-99-99", "not valid YAML"),
        ("[" * 5000, "not valid YAML"),
        ("? [a]\n: b", "not valid YAML"),
        ("", "contains NoneType, not the keys of a task"),
        ("- a", "contains list, not the keys of a task"),
        ("a: " + "x" * LARGEST, f"more than {LARGEST} bytes"),
        ("include: siq_x_remember.yaml", "include: siq_x_remember.yaml includes this file; remove one include"),
        ("include: [1]", r"include: \[1\] is not the name of a file, or a list of names"),
        ("include: [a.yaml]", r"a\.yaml': no such task file"),
        ("include: nowhere.yaml", r"nowhere\.yaml': no such task file"),
        ("include: ../..", "no such task file"),
        ("task: x", r"siq_x_remember\.yaml': metadata: None is not a mapping"),
        (TASK.format(loader=OURS, metadata="{1: 2}"), r"metadata: {1: 2} is not"),
        (TASK.format(loader=OURS, metadata="{level: remember}"), r"metadata\.dataset: None is not a plain name"),
        (TASK.format(loader=OURS, metadata="{dataset: ../../x}"), r"metadata\.dataset: '\.\./\.\./x' is not a plain"),
        (
            TASK.format(loader=OURS, metadata="{dataset: x}"),
            "dataset_path: missing; give a Hub id, a folder or a table",
        ),
        (TASK.format(loader="this.that", metadata="{dataset: x}"), "custom_dataset: 'this.that' is not a loader of sp"),
    ],
)
def test_a_task_file_that_cannot_be_is_named_with_its_key(tmp_path, text, message):
    with pytest.raises(SpeechIQError, match=message):
        list_clips(write(tmp_path, text))


def test_files_that_include_each_other_are_named(tmp_path):
    tmp_path.joinpath("a.yaml").write_text("include: b.yaml")
    tmp_path.joinpath("b.yaml").write_text("include: a.yaml")
    with pytest.raises(SpeechIQError, match=r"b\.yaml': include: a\.yaml includes this file; remove one include"):
        read_task(tmp_path / "a.yaml")


def test_questions_are_written_into_the_folder_of_the_tasks_alone(tmp_path):
    for place in ("/etc/questions", str(tmp_path.parent / "q.jsonl"), "q.jsonl"):
        folder = write(tmp_path, TASK.format(loader=OURS, metadata=f"{{dataset: x, questions: {place}}}"))
        with pytest.raises(SpeechIQError, match=r"metadata\.questions: .* is not in the folder of the tasks"):
            place_questions(folder)
    inside = tmp_path / "q.jsonl"
    folder = write(tmp_path, TASK.format(loader=OURS, metadata=f"{{dataset: x, questions: {inside}}}"))
    assert place_questions(folder) == inside


def test_the_suites_own_tasks_name_loaders_that_are_known():
    assert all(place_questions(file.parent.name) for file in HERE.glob("*/siq_*_remember.yaml"))
