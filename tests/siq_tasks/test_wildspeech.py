"""The family of spoken conversation: rows by their columns, bundled queries, and which rows a task takes."""

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.settings import read_record
from speechiq.siq_tasks.loaders import audio, bundled
from speechiq.siq_tasks.loaders.row_choice import ChoiceSettings
from tests.runs import load_task
from tests.siq_tasks.conftest import encode, write_table

#: Rows with the columns that the authors' code reads.
ROWS = {
    "user_query": ["Write a toast.", "Why tides?", "H-how are you?", "Say it sadly."],
    "taskType": ["Text Creation", "Information Inquiry", "prosodical", "prosodical"],
    "checklist": ["Is short.", None, "", "Sounds sad."],
    "conversation_hash": ["0a", "0b", "0c", "0d"],
    "modification_type": ["natural_noise", "human_noise", None, "clean"],
    "additional_info": [None, None, "stuttering (repeat)", "tone"],
}
#: The kind of noise of each row: what is neither of the two is clean.
NOISE = ("natural_noise", "human_noise", "clean", "clean")
TAKEN = {"tc": "00000", "ii": "00001", "pf_stutter": "00002", "pf_tone": "00003"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wildspeech")
    audio = {"audio": [encode(seconds) for seconds in (1.3, 1.2, 1.1, 1.0)]}
    write_table(folder / "data" / "train-00000-of-00001.parquet", ROWS, audio)
    return str(folder)


def load(name, **metadata):
    return load_task(name, reply_asr="pocketsphinx:en-us", speech_quality="off", **metadata)


@pytest.mark.parametrize("category", TAKEN)
def test_each_task_takes_the_rows_of_its_category(own_cache, rows, category):
    task = load(f"siq_wildspeech_{category}", dataset_path=rows)
    (doc,) = task.eval_docs
    number = int(TAKEN[category])
    assert doc["id"] == f"wildspeech/{TAKEN[category]}" and doc["question"] == ROWS["user_query"][number]
    assert doc["checklist"] == (ROWS["checklist"][number] or "")
    assert doc["noise"] == NOISE[number] and task.config.metadata["group_by"] == ["noise"]
    (items,) = task.doc_to_audio(doc)
    assert items["purpose"] == "reply" and doc["question"] not in str(items)
    assert task.config.metadata["reply_asr"] == "pocketsphinx:en-us"


def test_a_row_without_a_checklist_is_named_and_a_set_without_checklists_is_not(own_cache, rows, caplog):
    load("siq_wildspeech_tc", dataset_path=rows)
    assert not caplog.messages
    load("siq_wildspeech_ii", dataset_path=rows)
    assert caplog.messages == [
        "wildspeech/00001: no checklist in column checklist, as in 1 of 1 rows; "
        "their replies are judged by the general checklist alone"
    ]
    caplog.clear()
    task = load("siq_wildspeech_ii", dataset_path=rows, checklist_column=None)
    assert task.eval_docs["checklist"] == [""] and not caplog.messages


def test_a_category_without_rows_shows_the_values_of_the_column(own_cache, rows):
    with pytest.raises(SpeechIQError) as refused:
        load("siq_wildspeech_oe", dataset_path=rows)
    assert "no row where taskType is oe" in str(refused.value) and "'prosodical' (2)" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_rows_that_no_task_takes_are_counted_and_named_once(own_cache, tmp_path, caplog):
    texts = ["Why?", "How are you?", "Say it.", "Oh, sure."]
    changed = {"user_query": texts, "taskType": ["Information Inquiry", "chitchat", "prosodical", "prosodical"]}
    changed |= {"additional_info": [None, None, "near homophone", "sarcasm"]}
    audio = {"audio": [encode(seconds) for seconds in (1.3, 1.2, 1.1, 1.0)]}
    write_table(tmp_path / "data" / "train-00000-of-00001.parquet", ROWS | changed, audio)
    tasks = [load(f"siq_wildspeech_{name}", dataset_path=str(tmp_path)) for name in ("ii", "pf_homophone")]
    none, two = [task.config.metadata["left_out"] for task in tasks]
    assert none == {} and two == {"of no task of the data set": 2}
    assert caplog.text.count("wildspeech: of 3 rows, left out: of no task of the data set 2") == 1


def test_a_group_of_noise_can_be_chosen(own_cache, rows):
    where = {"taskType": "Text*", "modification_type": ["natural_noise"]}
    assert [doc["id"] for doc in load("siq_wildspeech_tc", dataset_path=rows, where=where).eval_docs] == [
        "wildspeech/00000"
    ]


def test_a_column_that_is_missing_is_refused(own_cache, rows):
    with pytest.raises(SpeechIQError, match="noise"):
        load("siq_wildspeech_tc", dataset_path=rows, where={"noise": "natural"})


def test_kinds_are_in_docs_and_no_part_of_what_is_scored(own_cache, rows):
    named = load("siq_wildspeech_tc", dataset_path=rows)
    without = load("siq_wildspeech_tc", dataset_path=rows, group_columns=None)
    (doc,), (plain,) = named.eval_docs, without.eval_docs
    assert doc == plain | {"noise": "natural_noise"}
    assert named.config.metadata["content_sha256"] == without.config.metadata["content_sha256"]


@pytest.mark.parametrize("where", ["tc", {}, {"taskType": []}, {"taskType": 3}])
def test_where_maps_columns_to_texts(where):
    with pytest.raises(SpeechIQError, match=r"where=.*: not valid .*; write {COLUMN: \[VALUE\]}"):
        read_record(ChoiceSettings, {"where": where})


def test_the_bundled_queries_are_in_five_categories_and_have_noisy_twins():
    clips = bundled.list_clips("wildspeech/demo")
    count = 0
    for category in ("tc", "ii", "sr", "oe", "pf"):
        clean, noisy = (load(f"siq_demo_reply_{kind}{category}") for kind in ("", "noisy_"))
        pairs = list(zip(clean.eval_docs, noisy.eval_docs, strict=True))
        count += len(pairs)
        assert all(one["id"] == other["id"] and one["checklist"] and one["keywords"] for one, other in pairs)
        assert all("transforms" in other["audio"] and "transforms" not in one["audio"] for one, other in pairs)
        assert clean.config.metadata["content_sha256"] != noisy.config.metadata["content_sha256"]
    assert count == len(clips) == len({clip["id"] for clip in clips}) == 27
    assert audio.to_reply_aloud({"audio": {"path": "x"}})[0] == {"path": "x", "purpose": "reply"}


def test_bundled_queries_are_spoken_by_people_and_by_four_programs():
    clips = bundled.list_clips("wildspeech/demo")
    people = {clip["id"]: clip["license"] for clip in clips if clip["voice"] is None}
    assert people.keys() == {"demo_reply/goforward", "demo_reply/something", "demo_reply/kennedy"}
    assert {license.partition(",")[0] for license in people.values()} == {"BSD-2-Clause", "public domain"}
    assert len({clip["voice"].partition(":")[0] for clip in clips if clip["voice"]}) == 4
