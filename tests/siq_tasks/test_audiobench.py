"""The sets of AudioBench: each loads rows of its own schema, and refuses rows that cannot be scored."""

from pathlib import Path

import pytest
from lm_eval.tasks._yaml_loader import load_yaml

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.asked import Columns, read_columns
from speechiq.siq_tasks.catalog import list_tasks
from speechiq.siq_tasks.rows import read_source
from speechiq.siq_tasks.suite import HERE
from speechiq.siq_tasks.task import SpeechTask
from speechiq.siq_tasks.templates import read_task
from tests.siq_tasks.conftest import encode, write_table

FOLDER = HERE / "audiobench"
TASKS = {task.name: task for task in list_tasks(check_files=False) if task.suite == "audiobench"}
#: Rows of each form as the sets of AudioBench write them: values by role, and what is read of the first row.
ROWS = {
    "choice": (
        {"question": ["Who?", "When?", "Why?"], "choices": ["(A) Ann;\n(B) Bo;\n(C) Cy."] * 3}
        | {"answer": ["(B) Bo;", "(B) Bo;", "(C) Cy."]},
        {"options": ["Ann", "Bo", "Cy."], "gold": "B", "majority": "B", "instruction": "Who?", "instruction_id": -1},
    ),
    "judged": (
        {"text": ["who is it", "when is it", "why is it"]}
        | {"question": ["Who?", "When?", "Why?"], "answer": ["Ann", "now", "the end #### 12"]},
        {"question": "Who?", "answer": "Ann", "accepted": []},
    ),
    "caption": ({"answer": ["A dog barks.", "Rain.", "A bell."]}, {"answer": "A dog barks."}),
    "transcribe": ({"text": ["so it goes", "so it goes on", "yes"]}, {"text": "so it goes"}),
}


def rows_of(task, about):
    """Three rows by role, and the fields that the first doc must have."""
    if task.level != "labels":
        return ROWS[task.level]
    first, second, *_ = about["labels"]
    answers = [f"The speaker sounds {label}." for label in (first, second, second)]
    return {"answer": answers}, {"answer": first, "gold": first, "majority": second}


@pytest.fixture(scope="session")
def own_cache(tmp_path_factory):
    """One clip folder for all sets of this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIQ_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("HF_DATASETS_CACHE", str(tmp_path_factory.mktemp("datasets")))
        yield


AUDIO = [encode(seconds) for seconds in (1.2, 1.1, 1.0)]


def write_rows(folder: Path, about, by_role, audio=AUDIO):
    """Write rows under the columns that a task's metadata name, as the Hub stores them."""
    source, columns = read_source(about | {"dataset_path": "x"}), read_columns(about)
    names = {key.removesuffix("_column"): name for key, name in columns._asdict().items()}
    names["text"] = source.text_column
    table = {names[role]: values for role, values in by_role.items() if names.get(role)}
    write_table(folder / "data" / f"{source.split}-00000-of-00001.parquet", table, {source.audio_column: audio})
    return str(folder)


def load(name, **metadata):
    config = load_yaml(FOLDER / f"{name}.yaml", resolve_func=True)
    return SpeechTask(config=config | {"metadata": config["metadata"] | metadata})


@pytest.mark.parametrize("name", TASKS)
def test_every_set_loads_rows_of_its_schema(own_cache, tmp_path, name):
    about = read_task(FOLDER / f"{name}.yaml")["metadata"]
    rows, wanted = rows_of(TASKS[name], about)
    task = load(name, dataset_path=write_rows(tmp_path, about, rows))
    docs = list(task.eval_docs)
    assert [doc["id"] for doc in docs] == [f"{about['dataset']}/{i:05}" for i in range(3)]
    assert docs[0].items() >= wanted.items()
    prompt = task.doc_to_text(docs[0])
    assert "<audio>" in prompt and docs[0]["instruction"] in prompt
    assert task.config.metadata["category"] == TASKS[name].category and "|" not in docs[0]["question_id"]
    assert Columns(**{key: about.get(key) for key in Columns._fields}) == read_columns(about)


def test_the_groups_have_the_sets_of_the_paper():
    members = [task for task in TASKS.values() if "audiobench_paper" in task.groups]
    assert len(members) == 26 and all("audiobench" in task.groups for task in TASKS.values())


def test_tasks_of_a_category_share_one_measure():
    described: dict[str, dict] = {}
    for name, task in TASKS.items():
        about = read_task(FOLDER / f"{name}.yaml")["shared_metadata"]
        assert described.setdefault(task.category, about) == about


BAD = {
    "a missing answer": ({"answer": ["(A) Ann;", None, "C"]}, "row 1: the answer is None, not a text"),
    "an answer that is no option": ({"answer": ["A", "B", "(D) Dora"]}, "row 2: the answer '(D) Dora' is not one of"),
    "a letter with another text": ({"answer": ["A", "B", "(C) Ann"]}, "row 2: the answer '(C) Ann' is not one of"),
    "options without letters": ({"choices": ["Ann or Bo"] * 3}, "row 0: the options 'Ann or Bo' cannot be parsed"),
    "one option": ({"choices": [["Ann"]] * 3}, "row 0: the options ['Ann'] cannot be parsed"),
    "a question that is empty": ({"question": ["Who?", " ", "Why?"]}, "row 1: the question is ' ', not a text"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_a_row_that_cannot_be_scored_is_named(own_cache, tmp_path, change, message):
    about = read_task(FOLDER / "audiobench_dream.yaml")["metadata"]
    folder = write_rows(tmp_path, about, ROWS["choice"][0] | change)
    with pytest.raises(SpeechIQError) as refused:
        load("audiobench_dream", dataset_path=folder)
    assert message in str(refused.value) and "leave_out=ID" in str(refused.value) and "\n" not in str(refused.value)


def test_a_row_can_be_left_out(own_cache, tmp_path):
    about = read_task(FOLDER / "audiobench_dream.yaml")["metadata"]
    folder = write_rows(tmp_path, about, ROWS["choice"][0] | {"answer": ["A", None, "C"]})
    task = load("audiobench_dream", dataset_path=folder, leave_out=1)
    assert [doc["question_id"] for doc in task.eval_docs] == ["dream/00000", "dream/00002"]
    with pytest.raises(SpeechIQError, match=r"leave_out: '00009' is the id of no row"):
        load("audiobench_dream", dataset_path=folder, leave_out="00001;00009")
