"""Tasks that come from a list of languages, as lm-eval sees them."""

from lm_eval.tasks import TaskManager

from speechiq.siq_tasks.catalog.overview import describe_data_set
from speechiq.siq_tasks.index import list_language_tasks
from tests.conftest import run

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


def test_the_index_of_languages_imports_no_models():
    program = (
        "import sys; from lm_eval.tasks import TaskManager; names = TaskManager(include_defaults=False).all_tasks; "
        f"print({NAME!r} in names, 'torch' in sys.modules)"
    )
    assert run("python", "-c", program).stdout.split() == ["True", "False"]


def test_a_language_is_described_without_its_clips():
    lines = list(describe_data_set("belebele_zho_Hans"))
    assert lines[0] == "data set: belebele_zho_Hans, version 1.0" and lines[1].endswith(
        "all three: siq_belebele_zho_Hans"
    )
    assert lines[2:] == [
        "rows: WueNLP/belebele-fleurs, zho_Hans, test",
        "clips: passages, first recording of each sentence, pauses of 0.5 s",
    ]
