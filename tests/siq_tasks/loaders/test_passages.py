"""Passages of Belebele-FLEURS: a parquet set with the columns of the Hub's, joined audio, and rows that are refused."""

import numpy as np
import pytest
from lm_eval.tasks import TaskManager

from speechiq.core.clip import file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.metrics.choice import LETTERS
from speechiq.siq_tasks.loaders import passages
from tests.siq_tasks.belebele import question, read, record, sentence, write_set

pytestmark = pytest.mark.slow
ASK = {"dataset": "belebele_deu_Latn", "dataset_name": "deu_Latn", "recording": "first", "pause_s": 0.5}
KENNEDY = [record("kennedy", 3.5), record("kennedy", 3.5, 3.5), record("kennedy", 3.0, 7.5)]
AUSTEN = [record("austen", 4.0), record("austen", 5.0, 4.0)]
#: Two readers of one sentence: the second is longer, the third has the fewest errors.
RATES = {"whisper_asr_cer": [0.3, 0.2, 0.1], "seamlessm4t_asr_cer": [0.3, None, 0.1], "gender": ["MALE"] * 3}
PASSAGES = {
    "a": [sentence(452, "Zweiter Satz.", KENNEDY[1]), sentence(451, "Erster Satz.", KENNEDY[0], speaker_id=[7])],
    "b": [sentence(9, "Ein Satz.", AUSTEN[0], AUSTEN[1], KENNEDY[2], **RATES), sentence(10, "Noch einer.", KENNEDY[1])],
}


@pytest.fixture
def rows():
    return [
        question("a", 2, PASSAGES["a"], answer="4"),
        question("b", 1, PASSAGES["b"]),
        question("a", 1, PASSAGES["a"], answer="1"),
    ]


@pytest.fixture
def hub(tmp_path, own_cache, rows):
    return write_set(tmp_path / "hub", rows)


def read_set(folder, **metadata):
    return passages.list_clips(**ASK | {"dataset_path": str(folder)} | metadata)


def load_level(level, folder, **metadata):
    (task,) = load_tasks(f"siq_belebele_deu_Latn_{level}", dataset_path=str(folder), **metadata)
    return task


def load_tasks(names, **metadata):
    return list(TaskManager(include_defaults=False, metadata=metadata).load(names)["tasks"].values())


def silence(seconds):
    return np.zeros(round(16_000 * seconds), np.float32)


def test_a_passage_is_its_sentences_in_the_order_of_their_ids_with_pauses(hub):
    long, short = read_set(hub)
    assert [clip["text"] for clip in (long, short)] == ["Ein Satz. Noch einer.", "Erster Satz. Zweiter Satz."]
    expected = np.concatenate([read(AUSTEN[0]), silence(0.5), read(KENNEDY[1])])
    assert np.array_equal(file_clip(long).samples, expected) and long["duration"] == len(expected) / 16_000
    expected = np.concatenate([read(KENNEDY[0]), silence(0.5), read(KENNEDY[1])])
    assert np.array_equal(file_clip(short).samples, expected)


@pytest.mark.parametrize(("rule", "taken"), [("first", AUSTEN[0]), ("longest", AUSTEN[1]), ("lowest_cer", KENNEDY[2])])
def test_the_rule_chooses_one_recording_per_sentence(hub, rule, taken):
    (clip,) = (clip for clip in read_set(hub, recording=rule, pause_s=0) if clip["text"] == "Ein Satz. Noch einer.")
    assert np.array_equal(file_clip(clip).samples, np.concatenate([read(taken), read(KENNEDY[1])]))


def test_a_passage_has_its_gender_and_speakers_or_says_that_they_differ(hub):
    mixed, same = read_set(hub)
    assert mixed["groups"] == {"gender": "mixed", "speaker": "1"}
    assert same["groups"] == {"gender": "female", "speaker": "7+1"}


def test_levels_share_passages_and_apply_asks_each_question(hub, demo_models):
    remember, understand = load_level("remember", hub), load_level("understand", hub, embedder=str(demo_models[-1]))
    apply = load_level("apply", hub)
    clips = {doc["id"]: doc for doc in remember.eval_docs}
    assert list(understand.eval_docs["id"]) == list(clips) and len(clips) == 2
    docs = list(apply.eval_docs)
    assert len(docs) == 3 and len({doc["question_id"] for doc in docs}) == 3
    for doc in docs:
        clip = clips[doc["id"]]
        assert doc["cluster"] == clip["cluster"] == doc["id"]
        assert (doc["audio"], doc["gender"], doc["speaker"]) == (clip["audio"], clip["gender"], clip["speaker"])
    answers = {doc["question"]: doc["options"][LETTERS.index(doc["answer"])] for doc in docs}
    assert answers == {"Frage 1 zu a?": "Antwort 1", "Frage 2 zu a?": "Antwort 4", "Frage 1 zu b?": "Antwort 2"}
    about = apply.config.metadata
    assert (about["recording"], about["pause_s"], about["dataset"]) == ("first", 0.5, "belebele_deu_Latn")
    assert about["group_by"] == ["gender", "speaker"] and about["rows"] == 3


def test_passages_of_two_languages_have_the_same_names(hub, tmp_path):
    english = write_set(tmp_path / "english", [question("b", 1, PASSAGES["b"], language="eng_Latn")], "eng_Latn")
    (clip,) = read_set(english, dataset="belebele_eng_Latn", dataset_name="eng_Latn")
    assert clip["id"].partition("/")[2] == read_set(hub)[0]["id"].partition("/")[2]


def test_a_subset_has_the_same_passages_on_every_level(hub):
    docs = [load_level(level, hub, subset=1).eval_docs for level in ("remember", "apply")]
    assert set(docs[0]["id"]) == set(docs[1]["id"]) and len(docs[0]) == 1


def test_a_second_run_reads_no_rows(hub, monkeypatch):
    first = read_set(hub)
    monkeypatch.setattr(passages, "load_rows", lambda _: pytest.fail("rows were read again"))
    assert read_set(hub) == first


def test_a_missing_column_is_refused(own_cache, tmp_path, rows):
    for row in rows:
        del row["mc_answer3"]
    with pytest.raises(SpeechIQError, match=r"no column 'mc_answer3'; it has link, .*; give the Hub"):
        read_set(write_set(tmp_path / "spoilt", rows))


def test_a_passage_can_be_left_out(hub):
    (long, short) = read_set(hub)
    name = long["id"].partition("/")[2]
    assert [clip["text"] for clip in read_set(hub, leave_out=name)] == [short["text"]]


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({"recording": "best"}, "recording=best: unknown; give first or longest or lowest_cer"),
        ({"pause_s": -1}, "pause_s=-1: not a number of seconds from 0 to 10; give one"),
        ({"pause_s": None}, "pause_s: missing; give a number of seconds from 0 to 10"),
        ({"pause_s": "long"}, "pause_s=long: not a number of seconds from 0 to 10"),
        (
            {"dataset_name": "fra_Latn"},
            "dataset_name: fra_Latn: not the language of belebele_deu_Latn, so that one task would have two languages; "
            "run --tasks siq_belebele_fra_Latn",
        ),
    ],
)
def test_settings_that_make_no_passages_are_refused(hub, metadata, error):
    with pytest.raises(SpeechIQError, match=error):
        read_set(hub, **metadata)


def test_error_rates_are_needed_only_by_the_rule_that_reads_them(own_cache, tmp_path, rows):
    for each in rows:
        each["sentence_data"] = [
            part | {"whisper_asr_cer": None, "seamlessm4t_asr_cer": []} for part in each["sentence_data"]
        ]
    folder = write_set(tmp_path / "without", rows)
    assert len(read_set(folder)) == 2
    with pytest.raises(
        SpeechIQError, match=r"a sentence that cannot be read 3 .*it has no error rates for recording=low"
    ):
        read_set(folder, recording="lowest_cer")
