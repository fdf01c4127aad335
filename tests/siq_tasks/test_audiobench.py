"""Test the sets of AudioBench: their measures and wordings, and what of their rows cannot be scored."""

import json
import math
import statistics
from pathlib import Path

import pytest
from msgspec.structs import asdict

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.settings import read_record
from speechiq.siq_tasks.index import HERE, list_tasks
from speechiq.siq_tasks.loaders.question_columns import Columns
from speechiq.siq_tasks.loaders.rows import read_source
from tests.runs import load_task
from tests.siq_tasks.conftest import encode, write_table
from tests.siq_tasks.published_rows import read_about

FOLDER = HERE / "audiobench"
TASKS = {task.name: task for task in list_tasks(check_files=False) if task.suite == "audiobench"}
#: Rows with options as the sets write them: values by role.
CHOICES = {
    "question": ["Who?", "When?", "Why?"], "choices": ["(A) Ann;\n(B) Bo;\n(C) Cy."] * 3,
    "answer": ["(B) Bo;", "(B) Bo;", "(C) Cy."],
}  # fmt: skip
AUDIO = [encode(seconds) for seconds in (1.2, 1.1, 1.0)]


def write_rows(folder: Path, about, by_role, audio=AUDIO):
    """Write rows under the columns that a task's metadata name, as the Hub stores them."""
    source, columns = read_source(about | {"dataset_path": "x"}), read_record(Columns, about)
    names = {key.removesuffix("_column"): name for key, name in asdict(columns).items()}
    names["text"] = source.text_column
    table = {names[role]: values for role, values in by_role.items() if names.get(role)}
    write_table(folder / "data" / f"{source.split}-00000-of-00001.parquet", table, {source.audio_column: audio})
    return str(folder)


def test_the_groups_have_the_sets_of_the_paper():
    members = [task for task in TASKS.values() if "audiobench_paper" in task.groups]
    assert len(members) == 26 and all("audiobench" in task.groups for task in TASKS.values())


def test_tasks_of_a_category_share_one_measure():
    described: dict[str, dict] = {}
    for name, task in TASKS.items():
        about = read_about(name)
        description = {key: about[key] for key in ("task_type", "item", "measure", "settings")}
        assert described.setdefault(task.category, description) == description


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (["Ann or Bo"] * 3, "options that cannot be read 3 .* row 0: the options .*Ann or Bo.* cannot be read"),
        ([["Ann"]] * 3, "fewer than two options 2 .*, an answer that is in no option 1"),
        ([["Ann", "Bo", "Cy"]] * 2 + ["?"], None),
    ],
)
def test_rows_of_which_none_can_be_scored_stop_the_run(shared_cache, tmp_path, choices, message):
    about = read_about("audiobench_dream")
    rows = CHOICES | {"choices": [json.dumps(each) for each in choices], "answer": ["A", "B", "A"]}
    folder = write_rows(tmp_path, about, rows)
    if message is None:
        assert len(load_task("audiobench_dream", dataset_path=folder).eval_docs) == 2, "one row never stops a run"
        return
    with pytest.raises(SpeechIQError, match=message) as refused:
        load_task("audiobench_dream", dataset_path=folder)
    assert "leave_out=ID" in str(refused.value) and "\n" not in str(refused.value)


def test_a_row_can_be_left_out(shared_cache, tmp_path):
    about = read_about("audiobench_dream")
    folder = write_rows(tmp_path, about, CHOICES | {"answer": ["A", "B", "C"]})
    task = load_task("audiobench_dream", dataset_path=folder, leave_out=1)
    assert [doc["question_id"] for doc in task.eval_docs] == ["dream/00000", "dream/00002"]
    with pytest.raises(SpeechIQError, match=r"leave_out: '00009' is the id of no row"):
        load_task("audiobench_dream", dataset_path=folder, leave_out="00001;00009")


def load_gender(tmp_path, **metadata):
    about = read_about("audiobench_iemocap_gender")
    answers = ["The speaker sounds like a male.", "There is a female speaker in this clip.", "The speaker is a male."]
    folder = write_rows(tmp_path, about, {"answer": answers})
    return load_task("audiobench_iemocap_gender", dataset_path=folder, **metadata)


def test_the_wording_of_a_row_follows_from_its_id(shared_cache, tmp_path):
    numbers = [doc["instruction_id"] for doc in load_gender(tmp_path).eval_docs]
    assert len(set(numbers)) > 1 and all(0 <= number <= 20 for number in numbers)
    task = load_gender(tmp_path)
    assert numbers == [doc["instruction_id"] for doc in task.eval_docs]
    assert (task.config.metadata["instruction"], len(task.config.metadata["instructions_sha256"])) == ("rotate", 64)
    fixed = load_gender(tmp_path, instruction=3)
    assert {(doc["instruction_id"], doc["instruction"]) for doc in fixed.eval_docs} == {
        (3, "Does a man or a woman speak in this recording?")
    }


def test_all_wordings_are_items_of_their_own_and_their_spread_is_a_metric(shared_cache, tmp_path):
    task = load_gender(tmp_path, instruction="all")
    docs = list(task.eval_docs)
    assert len({doc["question_id"] for doc in docs}) == len(docs) == 63
    judged = {"scores": [1.0], "texts": [""], "coverage": 1.0}
    answers = ["male" if doc["instruction_id"] % 2 else "female" for doc in docs]
    rows = [task.process_results(doc, [judged | {"answer": text}]) for doc, text in zip(docs, answers, strict=True)]
    means = [2 / 3 if number % 2 else 1 / 3 for number in range(21)]
    spread = task.aggregation()["instruction_spread"]([row["instruction_spread"] for row in rows])
    assert spread == pytest.approx(statistics.stdev(means)) and {row["floor"] for row in rows} == {0.0, 1.0}


@pytest.mark.parametrize("number", [21, -1, "first", 1.5, True])
def test_an_unknown_wording_is_refused(shared_cache, tmp_path, number):
    known = r"0 to 20 \(gender\), rotate or all" if number == 21 else "all or rotate or a whole number of 0 or more"
    with pytest.raises(SpeechIQError, match=f"instruction={number}: unknown; give {known}"):
        load_gender(tmp_path, instruction=number)


def test_every_task_without_an_instruction_has_at_least_20_wordings():
    files = list((FOLDER / "instructions").glob("*.txt"))
    used = {read_about(name).get("instructions") for name in TASKS} - {None}
    assert used == {file.stem for file in files}
    for file in files:
        wordings = file.read_text().splitlines()
        assert len(set(wordings)) == len(wordings) >= 20 and all(line == line.strip() != "" for line in wordings)


def test_an_answer_without_a_known_label_is_refused(shared_cache, tmp_path):
    about = read_about("audiobench_voxceleb_accent")
    folder = write_rows(
        tmp_path, about, {"answer": ["USA.", "From the audio, I guess the speaker is from Narnia."] * 2}, AUDIO[:2] * 2
    )
    with pytest.raises(SpeechIQError, match=r"row 1: the answer 'From the audio.* does not name exactly one of"):
        load_task("audiobench_voxceleb_accent", dataset_path=folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer_column": None}, "metadata.answer_column: missing, and tasks of the type labels need it"),
        (
            {"labels": {"male": []}},
            "labels={'male': []}: not valid (Expected `object` of length >= 2); write two or more",
        ),
        ({"instructions": "klingon"}, "metadata.instructions: 'klingon' is unknown; known are accent, asr"),
        ({"instructions": None}, "metadata.question_column: missing, as are instructions"),
        ({"answer_column": "reply"}, "no column 'reply'; it has answer, context"),
        (
            {"audio_column": "answer"},
            "column 'answer' contains texts, and the first, 'The speaker sounds like a male.', is not",
        ),
        ({"selection": "longest-text"}, "has no transcripts"),
    ],
)
def test_metadata_that_cannot_make_a_test_are_refused(shared_cache, tmp_path, change, message):
    with pytest.raises(SpeechIQError) as refused:
        load_gender(tmp_path, **change)
    assert message in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "values", [[1, 2], [["a"], ["b"]], [{"array": [0.5], "sampling_rate": 16000}] * 2, [None, None]]
)
def test_audio_of_another_type_is_refused(shared_cache, tmp_path, values):
    rows = {"context": values, "answer": ["male", "female"]}
    write_table(tmp_path / "data" / "test-00000-of-00001.parquet", rows, {})
    with pytest.raises(SpeechIQError, match=r"column 'context' contains no audio \(.*audio_column=") as refused:
        load_task("audiobench_iemocap_gender", dataset_path=str(tmp_path))
    assert "\n" not in str(refused.value)


def test_options_are_read_with_the_letter_of_most_rows(shared_cache, tmp_path):
    about = read_about("audiobench_dream")
    doc = load_task("audiobench_dream", dataset_path=write_rows(tmp_path, about, CHOICES)).eval_docs[0]
    wanted = {"options": ["Ann", "Bo", "Cy."], "gold": ["B"], "majority": "B", "instruction": "Who?"}
    assert doc.items() >= (wanted | {"instruction_id": -1}).items()


def test_rows_with_one_audio_are_one_clip_with_several_questions(shared_cache, tmp_path):
    about = read_about("audiobench_dream")
    folder = write_rows(tmp_path, about, CHOICES, [AUDIO[0], AUDIO[1], AUDIO[0]])
    docs = load_task("audiobench_dream", dataset_path=folder).eval_docs
    items = {(doc["id"], doc["question_id"]) for doc in docs}
    assert items == {("dream/00000", "dream/00000"), ("dream/00000", "dream/00002"), ("dream/00001", "dream/00001")}


def test_a_translation_is_asked_for_by_the_name_of_its_language(shared_cache, tmp_path):
    about = read_about("audiobench_covost2_en_zh")
    folder = write_rows(tmp_path, about, {"answer": ["你好。", "再见。", "谢谢。"]})
    task = load_task("audiobench_covost2_en_zh", dataset_path=folder)
    assert all(doc["instruction"].count("Chinese") == 1 and "{" not in doc["instruction"] for doc in task.eval_docs)
    metadata = task.config.metadata
    assert (metadata["language"], metadata["target_language"], metadata["bleu_tokenizer"]) == ("en", "zh", "zh")
    doc = task.eval_docs[0]
    assert task.doc_to_audio(doc)[0]["question"] == doc["instruction"] in task.doc_to_text(doc)
    row = task.process_results(doc, [doc["answer"]])
    assert {*row} == {metric["metric"] for metric in task.config.metric_list} and row["chrf"] == 1.0


def test_directions_have_wordings_of_their_own(shared_cache, tmp_path):
    about = read_about("audiobench_covost2_en_id")
    folder = write_rows(tmp_path, about, {"answer": ["Halo.", "Ya.", "Tidak."]})
    load = {"dataset_path": folder, "instruction": 0}
    own = load_task("audiobench_covost2_en_id", **load).config.metadata
    other = load_task("audiobench_covost2_en_id", **load, target_language="ms").config.metadata
    assert own["instructions_sha256"] != other["instructions_sha256"]
    with pytest.raises(SpeechIQError, match=r"metadata\.target_language: en is also"):
        load_task("audiobench_covost2_en_id", **load, target_language="en")


@pytest.mark.parametrize(
    ("task", "reference", "answer", "column", "rate"),
    [
        ("audiobench_aishell_1_zh", "今天天气很好", "今天天汽很好", "cer", 1 / 6),
        ("audiobench_seame_dev_man", "我不 know lah", "我 know lah", "mer", 1 / 4),
        ("audiobench_librispeech_clean", "so it goes on", "so it goes", "wer", 1 / 4),
    ],
)
def test_transcripts_are_counted_in_the_unit_of_their_language(
    shared_cache, tmp_path, task, reference, answer, column, rate
):
    folder = write_rows(tmp_path, read_about(task), {"text": [reference] * 3})
    loaded = load_task(task, dataset_path=folder)
    assert loaded.config.metadata["measure"]["column"] == column
    row = loaded.process_results(loaded.eval_docs[0], [answer])
    assert row[column] == pytest.approx(rate) and {*row} == {each["metric"] for each in loaded.config.metric_list}
    assert math.isnan(row["wer_audiobench"]) == (column == "cer")


def test_rows_may_describe_the_scores_of_the_judge(shared_cache, tmp_path):
    about = read_about("audiobench_clotho_aqa") | {"grades_column": "scores"}
    meanings = [["none", "poor", "fair", "good", "best"], None, '["a", "b", "c", "d", "e"]']
    rows = {"question": ["Who?"] * 3, "answer": ["Ann"] * 3, "grades": [json.dumps(meanings[0]), None, meanings[2]]}
    folder = write_rows(tmp_path, about, rows)
    task = load_task("audiobench_clotho_aqa", dataset_path=folder, grades_column="scores", judge_rubric="reference_1_5")
    assert [doc["grades"] for doc in task.eval_docs] == [meanings[0], None, ["a", "b", "c", "d", "e"]]


def test_descriptions_of_scores_that_are_no_list_leave_the_row_out(shared_cache, tmp_path):
    about = read_about("audiobench_clotho_aqa") | {"grades_column": "scores"}
    rows = {"question": ["Who?"] * 3, "answer": ["Ann"] * 3, "grades": ["good or bad", None, None]}
    folder = write_rows(tmp_path, about, rows)
    task = load_task("audiobench_clotho_aqa", dataset_path=folder, grades_column="scores")
    assert task.config.metadata["left_out"] == {"descriptions of scores that cannot be read": 1}


def test_options_may_be_many_and_none_is_added(shared_cache, tmp_path):
    about = read_about("audiobench_dream")
    options = [f"number {n}" for n in range(1, 27)]
    asked = {"question": ["Which?"] * 2, "choices": [options, options[:2]], "answer": ["Z", "number 1"]}
    task = load_task("audiobench_dream", dataset_path=write_rows(tmp_path, about, asked, AUDIO[:2]))
    many, two = task.eval_docs
    assert "(Z) number 26" in task.doc_to_text(many) and "(C)" not in task.doc_to_text(two)
    assert task.doc_to_audio(two)[0]["options"] == ["number 1", "number 2"]
    judged = {"answer": "(Z)", "scores": [0.0], "texts": [""], "coverage": 0.5}
    assert task.process_results(many, [judged])["acc"] == 1.0 and task.process_results(two, [judged])["unparsed"] == 1.0
