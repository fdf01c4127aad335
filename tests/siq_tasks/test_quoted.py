"""Test the sets that model cards quote: rows of their cards, and what cannot be scored."""

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.catalog.data_sets import describe_data_set
from speechiq.siq_tasks.index import HERE, list_tasks
from tests.cards.tables import find_card, names, read_card, write_card
from tests.runs import load_task
from tests.siq_tasks.conftest import encode
from tests.siq_tasks.published_rows import read_about

#: Tasks of suites of their own; TED-LIUM has the levels of SIQ.
FILES = {
    file.stem: file for file in HERE.joinpath("quoted").rglob("[!_]*.yaml") if not file.stem.startswith("siq_tedlium_")
}
TASKS = {task.name: task for task in list_tasks(check_files=False) if task.name in FILES}
AUDIO = [encode(1 + i / 10) for i in range(8)]


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """Data set -> a local copy of its card's schema."""
    return {
        splits[0].dataset: write_card(tmp_path_factory.mktemp(name), splits, AUDIO)
        for name, splits in ((name, read_card(name)) for name in names())
    }


def load_from(hub, name, **metadata):
    return load_task(name, dataset_path=hub[read_about(name)["dataset_path"]], **metadata)


def changed(tmp_path, task, **columns):
    """A task on a copy of its card whose columns have other values in the first rows."""
    splits = [
        split._replace(
            rows=[
                row | {name: values[i] for name, values in columns.items() if i < len(values)}
                for i, row in enumerate(split.rows)
            ]
        )
        for split in find_card(task)
        if task in split.tasks
    ]
    return load_task(task, dataset_path=write_card(tmp_path, splits, AUDIO))


def test_every_set_is_in_a_suite_of_its_own_with_a_readme():
    assert {task.suite for task in TASKS.values()} == {"mmsu", "mmau", "mmar", "bigbenchaudio", "voicebench"}
    for task in TASKS.values():
        assert task.suite in task.groups and HERE.joinpath("quoted", task.suite, "README.md").is_file()
    nine = {"alpacaeval", "commoneval", "wildvoice", "sd_qa", "mmsu", "openbookqa", "ifeval", "advbench"}
    nine |= {"bbh_yes_no", "bbh_hyperbaton"}
    assert {task.category for task in TASKS.values() if task.suite == "voicebench"} == nine
    assert len([task for task in TASKS.values() if "voicebench_sd_qa" in task.groups]) == 11


def test_a_set_is_described_with_its_columns():
    lines = list(describe_data_set("mmsu"))
    assert lines[0].startswith("data set: mmsu, ") and any("choice_c, choice_d (choices)" in line for line in lines)


def test_options_come_from_columns_json_lists_and_letters(shared_cache, hub):
    docs = {doc["question_id"]: doc for doc in load_from(hub, "mmsu_choice").eval_docs}
    assert docs["mmsu/00000"]["options"] == ["water", "morning", "garden", "never"]
    assert [docs[f"mmsu/0000{i}"]["gold"] for i in range(3)] == [["C"], ["B"], ["A"]]
    docs = {doc["question_id"]: doc for doc in load_from(hub, "mmau_mini").eval_docs}
    assert docs["mmau_mini/00002"]["options"][2] == "wait, and then leave" and docs["mmau_mini/00002"]["gold"] == ["C"]
    assert docs["mmau_mini/00001"]["options"] == ["piano", "violin"]
    docs = {doc["question_id"]: doc for doc in load_from(hub, "mmar_choice").eval_docs}
    assert docs["mmar/00000"]["options"][0] == "The joke is on the speaker"
    assert docs["mmar/00000"]["cluster"] == docs["mmar/00001"]["cluster"] != docs["mmar/00002"]["cluster"]
    spoken = load_from(hub, "voicebench_bbh_hyperbaton").eval_docs
    assert {(*doc["options"], *doc["gold"]) for doc in spoken} == {("A", "B", "A"), ("A", "B", "B")}


def test_regions_and_fields_of_cards_are_groups(shared_cache, hub):
    doc = load_from(hub, "voicebench_sd_qa_ind_n").eval_docs[0]
    assert doc["region"] == "ind_n"
    task = load_from(hub, "mmsu_choice")
    assert task.config.metadata["group_by"] == ["ability", "field", "skill"]
    assert {doc["field"] for doc in task.eval_docs} == {"Linguistics", "Paralinguistics"}


@pytest.mark.parametrize(
    ("name", "columns", "is_left_out"),
    [
        ("mmau_mini", {"choices": ["[1, 2]"], "answer": ["2"]}, False),
        ("mmau_mini", {"choices": ['["a dog", "a cat"']}, True),
        ("mmau_mini", {"choices": ['{"A": "a dog"}']}, True),
        ("mmsu_choice", {"choice_d": [""]}, False),
        ("mmsu_choice", {f"choice_{letter}": [""] for letter in "abcd"}, True),
    ],
    ids=["numbers", "JSON that is cut off", "JSON of another kind", "all but the last", "no options"],
)
def test_options_that_cannot_be_read_are_left_out(shared_cache, tmp_path, name, columns, is_left_out):
    about = changed(tmp_path, name, **columns).config.metadata
    assert about["left_out"] == ({"options that cannot be read": 1} if is_left_out else {}) and not about["repaired"]


def test_equal_options_are_all_right(shared_cache, tmp_path):
    task = changed(tmp_path, "mmau_mini", choices=['["a dog", "a cat", "A dog.", "a cow"]'])
    doc = next(doc for doc in task.eval_docs if len(doc["gold"]) > 1)
    assert doc["gold"] == ["A", "C"] and doc["answer"] == "(A) a dog"
    judged = {"scores": [0.0], "texts": [""], "coverage": 1.0}
    scores = {
        answer: task.process_results(doc, [judged | {"answer": answer}])
        for answer in ("(A)", "C", "A dog.", "(B)", "No idea.")
    }
    assert [row["acc"] for row in scores.values()] == [1, 1, 1, 0, 0]
    assert [row["acc_guess"] for row in scores.values()] == [1, 1, 1, 0, 0.5]


@pytest.mark.parametrize("count", [1, 27, "four", True])
def test_a_number_of_spoken_options_that_cannot_be_is_refused(shared_cache, hub, count):
    with pytest.raises(SpeechIQError, match=r"spoken_options=.*: not a whole number from 2 to 26; give one"):
        load_from(hub, "voicebench_openbookqa", spoken_options=count)
