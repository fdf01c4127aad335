"""The family of assistants: bundled queries, sets of one's own, and texts for voices to speak."""

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.catalog.new import create
from speechiq.siq_tasks.loaders import bundled
from speechiq.siq_tasks.loaders import clips as loading
from tests.metrics import tiny_text
from tests.runs import evaluate, load_task
from tests.siq_tasks.conftest import encode, write_lines

OFF = {"assistant": "off", "encoder": "off", "rare_words": "off"}


def load(task: str):
    return load_task(task, **OFF, judge="exact_match")


def test_queries_have_their_entities_and_settings_in_docs():
    task = load("siq_demo_assistant_distance")
    marked = {clip["id"]: clip["entities"] for clip in bundled.list_clips("assistant/demo")}
    assert {doc["id"]: doc["entities"] for doc in task.eval_docs} == marked
    assert {key: task.eval_docs[0][key] for key in OFF} == OFF
    assert task.config.metadata["suite"] == "assistant" and task.config.metadata["ner"] == "off"


def test_no_word_of_a_query_is_in_the_prompt_or_the_items_of_its_audio():
    for name, answers in (("choose", "options"), ("answer", "accepted")):
        task = load(f"siq_demo_assistant_{name}")
        doc = task.eval_docs[0]
        request = json.dumps([task.doc_to_text(doc), task.doc_to_audio(doc)])
        assert doc["text"] not in request and doc[answers]
    assert task.doc_to_text(doc) == "<audio>"
    assert doc["question"] == doc["text"] and doc["answer"] in doc["accepted"]


@pytest.fixture
def spoken(tmp_path, own_cache):
    """A folder as `siq data speak` writes it."""
    folder = tmp_path / "oasst"
    folder.mkdir()
    for name in ("a.wav", "b.wav"):
        folder.joinpath(name).write_bytes(encode(1.0))
    return folder


ROWS = (
    {"id": "a", "audio": "a.wav", "text": "Where is New York?", "entities": ["New York"]},
    {"id": "b", "audio": "b.wav", "text": "Who invented calculus?", "entities": []},
)


def load_rows(file, **more):
    about = {"task_type": "distance", "dataset": "oasst", "dataset_path": file, "id_column": "id", "ner": "off"} | OFF
    return loading.load(**about | more)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_entities_are_read_from_tables_and_data_sets(spoken, kind):
    if kind == "jsonl":
        file = write_lines(spoken / "clips.jsonl", *ROWS)
    elif kind == "csv":
        file = spoken / "clips.csv"
        file.write_text(
            "id,audio,text,entities\na,a.wav,Where is New York?,New York\nb,b.wav,Who invented calculus?,\n"
        )
    else:
        file = spoken / "parquet"
        file.mkdir()
        rows = [row | {"audio": {"bytes": spoken.joinpath(row["audio"]).read_bytes(), "path": None}} for row in ROWS]
        pq.write_table(pa.Table.from_pylist(rows), file / "test-00000-of-00001.parquet")
    docs = load_rows(str(file)).docs
    assert {doc["id"]: doc["entities"] for doc in docs} == {"oasst/a": ["New York"], "oasst/b": []}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"entities": ["Peru"]}, r"oasst/a: its entity 'Peru' is not in its reference; correct the column entities"),
        ({"entities": [5]}, r"no entities 1 \(oasst/a\).* row 0: entities is \[5\], not a list of texts"),
        ({"text": ""}, r"no text 1 \(oasst/a\).* row 0: text is '', not a text; name other columns"),
    ],
)
def test_a_set_that_cannot_be_measured_is_named_before_compute(spoken, row, message):
    with pytest.raises(SpeechIQError, match=message):
        load_rows(str(write_lines(spoken / "clips.jsonl", ROWS[0] | row)))


def test_texts_that_were_not_spoken_yet_are_a_missing_table(own_cache):
    with pytest.raises(SpeechIQError, match=r"oasst/metadata\.jsonl': no such file; .*`siq data speak`"):
        load("siq_oasst_distance")


def test_spoken_texts_are_read_as_they_were_written(spoken, monkeypatch):
    rows = [{"file_name": row["audio"], "seconds": 1.0, "voice": "flite:slt"} | row for row in ROWS]
    write_lines(spoken / "metadata.jsonl", *rows)
    monkeypatch.chdir(spoken.parent)
    docs = load("siq_oasst_distance").eval_docs
    assert {doc["id"]: doc["entities"] for doc in docs} == {"oasst/a": ["New York"], "oasst/b": []}


@pytest.mark.slow
def test_recordings_of_ones_own_are_measured_from_an_empty_folder(spoken, tmp_path):
    table = tmp_path / "texts.csv"
    table.write_text("audio,text,entities\na.wav,Where is New York?,New York\nb.wav,Who invented the jeans?,\n")
    models = {
        "assistant": tiny_text.language_model("Llama", tmp_path / "llama"),
        "encoder": tiny_text.encoder(tmp_path / "encoder"),
    }
    made = create("calls", spoken, table, tmp_path / "calls", "x/y", models["assistant"])
    assert made.tasks[-1] == "siq_calls_distance"
    transcripts = tmp_path / "said.jsonl"
    written = {"calls/a": "Where is York?", "calls/b": "Who invented the jeans?"}
    write_lines(transcripts, *({"id": key, "text": text} for key, text in written.items()))
    system = {"pretrained": f"transcripts:{transcripts}+{models['assistant']}"}
    about = {"encoder": models["encoder"], "rare_words": "off"}
    results = evaluate("hf-audio", made.tasks[-1:], include=tmp_path / "calls", model_args=system, metadata=about)
    rows = {row["doc"]["id"]: row for row in results["samples"]["siq_calls_distance"]}
    wrong, right = rows["calls/a"], rows["calls/b"]
    assert (wrong["entity_wer"], wrong["wer"]) == (0.5, 0.25) and math.isnan(right["entity_wer"])
    for column in ("semdist", "llm_semdist_raw", "llm_semdist_prompt", "llm_semdist_eowl", "llm_semdist_raw_layers"):
        assert right[column] == 0 < wrong[column]
    scores = results["results"]["siq_calls_distance"]
    assert scores["entity_wer,distance"] == scores["entity_wer_corpus,distance"] == 0.5
    assert math.isnan(scores["rare_wer,distance"])
    assert wrong["filtered_resps"][0]["entities"] == ["New York"]
