"""Test the plan of an evaluation and its work: the index of tasks, the docs that run, and the counts."""

from __future__ import annotations

import pytest

from speechiq.core.cache.stage_cache import StageCount
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.plan import needs_index
from speechiq.harness_patch.work import SystemWork, choose_clips, choose_shard, list_work, refuse_other_names
from speechiq.siq_tasks.index import list_tasks

OWN = sorted(set().union(*(task.names for task in list_tasks(check_files=False))))


def test_no_task_or_group_of_the_suite_needs_the_index():
    assert {"siq_all", "audiobench", "audiobench_demo_long"} <= {*OWN}
    assert [name for name in OWN if needs_index([name])] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *[("siq_*", False), ("audiobench_demo_*", False), ("siq_dmeo", False), ("siq_mine", False)],
        *[("mmlu", True), ("*", True), ("siqa", True), ("audio", True), ("tasks/siq_mine.yaml", True)],
    ],
)
def test_other_names_need_the_index_unless_they_begin_like_the_suite(name, expected):
    assert needs_index([name]) is needs_index(["siq_demo", name]) is expected


def doc(name, dataset="x", seconds=2.0):
    return {"id": f"{dataset}/{name}", "dataset": dataset, "audio": {"sha256": name, "duration": seconds}}


A, B, C = map(doc, "abc")


def test_the_tasks_of_a_set_take_the_same_clips_in_any_order():
    docs = {"remember": [A, B, C], "apply": [C, A, A, B], "theirs": [{"text": "t"}] * 3}
    assert choose_clips(docs, 2) == {"remember": [0, 1], "apply": [1, 2, 3], "theirs": [0, 1]}
    assert choose_clips(docs, None) == {} and choose_clips(docs, 3) == {}


def test_tasks_of_other_clips_take_their_own():
    docs = {"one": [A, B], "other": [C, C, doc("d")], "of_another_set": [doc("a", "y"), doc("b", "y")]}
    assert choose_clips(docs, 1) == {"one": [0], "other": [0, 1], "of_another_set": [0]}


def test_the_work_counts_a_clip_once_over_all_tasks():
    docs = {"remember": [A, B, C], "apply": [A, A, B, C], "theirs": [{"text": "t"}]}
    about = {"remember": {"suite": "siq", "category": "remember"}, "apply": {"suite": "siq"}, "theirs": {}}
    system = SystemWork("demo", "name", [StageCount("asr", 2, 1)], complete=False)
    work = list_work(docs, about, [system], choose_clips(docs, 2))
    assert [(task.docs, task.clips, task.seconds) for task in work.tasks] == [(2, 2, 4.0), (3, 2, 4.0), (1, 0, 0.0)]
    assert (work.clips, work.seconds, work.systems) == (2, 4.0, [system])
    assert [task.suite for task in work.tasks] == ["siq", "siq", ""]


def test_each_clip_is_in_one_shard_with_all_its_docs():
    names = [f"{number}" for number in range(40)]
    docs = {"remember": list(map(doc, names)), "apply": [doc(name) for name in names for _ in range(3)]}
    shards = [choose_shard(docs, {}, (number, 4)) for number in range(1, 5)]
    assert sorted(place for shard in shards for place in shard["remember"]) == list(range(40))
    for shard in shards:
        assert shard["apply"] == [3 * place + i for place in shard["remember"] for i in range(3)]
        assert 0 < len(shard["remember"]) < 20
    fewer = choose_shard(docs, choose_clips(docs, 10), (1, 4))
    assert fewer["remember"] == [place for place in shards[0]["remember"] if place < 10]


def test_data_sets_of_one_suite_run_under_one_condition():
    def describe(dataset, suite="siq", **about):
        return {"suite": suite, "dataset": dataset, **about}

    noisy = {"condition": "white@10dB"}
    refuse_other_names({"a": describe("rc", **noisy), "b": describe("demo", **noisy), "c": {}})
    refuse_other_names({"a": describe("rc", **noisy), "b": describe("other", "audiobench"), "c": {"dataset": "mmlu"}})
    refuse_other_names({"a": describe("demo", **noisy), "b": describe("demo")})
    for about in (noisy, {"listen": "muted"}):
        ((setting, value),) = about.items()
        with pytest.raises(SpeechIQError) as refused:
            refuse_other_names({"a": describe("rc", **about), "b": describe("rc", **about), "c": describe("demo")})
        assert str(refused.value) == (
            f"--metadata {setting}: it is none for data set demo and {value} for rc, but is part of the system's name "
            "in results; run the data sets in two commands"
        )
