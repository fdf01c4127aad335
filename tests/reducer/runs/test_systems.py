"""Reading run trees: what is taken from them, which run counts, and what is refused."""

from __future__ import annotations

import json
import math
import operator
import os
import subprocess
import tracemalloc
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.samples import read_sample_table
from speechiq.reducer.runs.tasks import find_tasks
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.suites import read_systems
from tests.records import change_rows, describe, write_samples
from tests.reducer.conftest import change_results, levels, sample_row, write_run


def refusal(*runs: Path) -> str:
    with pytest.raises(SpeechIQError) as caught:
        read_systems(runs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def samples_of(results: Path, task: str) -> Path:
    return results.with_name(f"samples_{task}_{results.stem.removeprefix('results_')}.jsonl")


def test_scores_by_level(tmp_path):
    scores = {"remember": {"a": 0.25, "b": 0.0}, "understand": {"a": 0.75}, "apply": {"a": {"q1": 1.0, "q2": math.nan}}}
    write_run(tmp_path / "deep" / "er", scores, system="org/model")
    (system,) = runs = read_systems([tmp_path])
    assert system.name == "org/model" and runs.warnings == []
    assert math.isnan(system.scores["apply"].pop(("a", "q2"))), "it is read, for the pool to refuse"
    assert system.scores == {
        "remember": {("a",): -0.25, ("b",): 0.0},
        "understand": {("a",): 0.75},
        "apply": {("a", "q1"): 1.0},
    }
    assert math.copysign(1, system.scores["remember"]["b",]) == 1, "a perfect WER is a plain zero"


def test_levels_of_several_runs_and_datasets_are_one_system(tmp_path):
    write_run(tmp_path / "1", {"remember": {"a": 0.1}}, tasks="one")
    write_run(tmp_path / "2", {"apply": {"a": {"q": 1.0}}}, tasks="two")
    write_run(tmp_path / "3", {"remember": {"b": 0.3}}, tasks="three")
    (system,) = runs = read_systems([tmp_path])
    assert system.scores == {"remember": {("a",): -0.1, ("b",): -0.3}, "apply": {("a", "q"): 1.0}}
    assert runs.warnings == []


def test_newest_run_of_a_task_wins_and_says_so(tmp_path):
    """Take the date inside as the age, not that of the name: the older file comes last in the order of names."""
    new = write_run(tmp_path / "z", levels(0.5) | {"remember": {"a": 0.2}}, date=1e9)
    old = write_run(tmp_path / "a", {"remember": {"a": 0.9}}, date=2e8)
    (system,) = runs = read_systems([tmp_path])
    (warning,) = runs.warnings
    assert system.scores["remember"] == {("a",): -0.2}
    assert warning == (f"system 'system' has several runs of demo_0: taking the newest, {str(new)!r}, not {str(old)!r}")


def test_the_same_runs_twice_are_one_line(tmp_path):
    for folder in ("a", "b"):
        for system in ("one", "two", "three"):
            write_run(tmp_path / folder / system, levels(0.5), system=system)
    (warning,) = read_systems([tmp_path]).warnings
    assert warning.startswith("system 'one' and 2 other systems have several runs of demo_0, demo_1, demo_2: taking ")


def described(**asr: object) -> dict:
    return {"siq": {"pretrained": "s", "system": {"kind": "cascade", "asr": {"model": "w", "num_beams": 1} | asr}}}


def test_tasks_that_ran_with_other_options_are_told_in_one_line(tmp_path):
    for date, beams in enumerate((1, 5, 5), 1):
        config = described(num_beams=beams, prompt="\x1b[2J" * (beams > 1))
        write_run(tmp_path / str(date), {"remember": {f"{date}": 0.1}}, tasks=f"set{date}", date=date, config=config)
    (system,) = runs = read_systems([tmp_path])
    (warning,) = runs.warnings
    assert len(system.scores["remember"]) == 3 and warning == (
        r"system 's' ran set1_0 with other options than set3_0: asr.num_beams 1 -> 5, asr.prompt '' -> '\x1b[2J'; "
        "both count: rerun one of the two, or name runs with the same"
    )


def test_the_newest_run_says_what_ran_otherwise(tmp_path):
    for date, config in enumerate((described(), described(), described(model="v")), 1):
        write_run(tmp_path / str(date), {"remember": {"a": 0.1}}, date=date, config=config)
    first, second = read_systems([tmp_path]).warnings
    assert first.endswith(", which ran with other options: asr.model 'w' -> 'v'")
    assert second.endswith(", which ran with other options: asr.model 'w' -> 'v'")
    same = read_systems([tmp_path / "1", tmp_path / "2"]).warnings
    assert len(same) == 1 and "options" not in same[0]


@pytest.mark.parametrize(
    ("system", "config", "name"),
    [
        (None, {"model_args": {"pretrained": "a+b", "device": "cpu"}}, "a+b"),
        (None, {"model_args": "device=cpu,pretrained=a+b,dtype=auto"}, "a+b"),
        (None, {"model_args": {}}, "folder"),
        (None, {"model_args": None}, "folder"),
        ("brave_hopper_42", {"siq": {"pretrained": "a+b"}}, "a+b"),  # lm_eval invented it
        ("a\x1b[2Jb\n\ud800", {}, "a\ufffd[2Jb\ufffd\ufffd"),
    ],
)
def test_the_name_of_a_system_is_found_and_printable(tmp_path, system, config, name):
    write_run(tmp_path / "folder", levels(0.5), system=system, config=config)
    assert read_systems([tmp_path])[0].name == name


def test_results_file_itself_whatever_its_name(tmp_path):
    results = write_run(tmp_path, levels(0.5))
    mine = results.rename(results.with_name(results.name.replace("results", "mine")))
    assert {task.results for given in (tmp_path, mine) for task in find_tasks([given])[0]} == {str(mine)}
    (by_file,), (by_folder,) = (read_systems([place]) for place in (mine, tmp_path))
    assert by_file.scores == by_folder.scores and by_file.tasks == by_folder.tasks


def test_other_files_and_other_tasks_are_ignored(tmp_path):
    write_run(tmp_path, levels(0.5))
    (tmp_path / "results_siq.json").write_text("not lm-eval's")
    (tmp_path / "notes.json").write_text("{")
    configs = {"gsm8k": {"metadata": {"version": 3.0, "level": 5}}, "old": {"metadata": [{"version": 1}]}}
    write_run(tmp_path / "other", {}, system="other", configs=configs)
    assert [system.name for system in read_systems([tmp_path])] == ["system"]


def test_each_results_file_once_through_links_and_overlaps(tmp_path):
    results = write_run(tmp_path / "runs" / "a", levels(0.5))
    for name in "xyz":  # the ways through three loops are too many to walk
        (tmp_path / "runs" / "a" / name).symlink_to(tmp_path / "runs", target_is_directory=True)
    (tmp_path / "runs" / "self").symlink_to(tmp_path / "runs" / "self")
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "linked").symlink_to(tmp_path / "runs" / "a", target_is_directory=True)
    for given in ([tmp_path, tmp_path / "runs", results], [tmp_path / "pool"]):
        tasks, warnings = find_tasks(given)
        assert len(tasks) == len(LEVELS) and warnings == []


def test_task_name_does_not_lead_out_of_the_folder(tmp_path):
    results = write_run(tmp_path / "in", {}, configs={"/../../secret": {"metadata": describe("remember")}})
    outside = tmp_path / f"secret_{results.stem.removeprefix('results_')}.jsonl"
    outside.write_text(json.dumps(sample_row("remember", "a", "", 0.0)))
    assert f"in {str(results.parent)!r}" in refusal(tmp_path / "in")


@pytest.mark.parametrize(("name", "why"), [("x" * 300, "File name too long"), ("no", "No such file or directory")])
def test_a_path_that_cannot_be_read(tmp_path, name, why):
    assert refusal(tmp_path / name).startswith(f"{str(tmp_path / name)!r}: cannot be read ({why})")


def test_no_results(tmp_path):
    (tmp_path / "empty").mkdir()
    write_run(tmp_path / "only_arc", {})
    message = refusal(tmp_path / "empty", tmp_path / "only_arc")
    assert message.startswith(f"no SpeechIQ results in {str(tmp_path / 'empty')!r}") and "--output_path" in message


def test_no_samples(tmp_path):
    write_run(tmp_path, levels(0.5), samples=False)
    message = refusal(tmp_path)
    assert "'samples_demo_0_" in message and message.endswith("rerun lm_eval with --log_samples")


HUGE = "9" * 401
DATES = ('"x"', "1763750000000", "-1", "1e300", "NaN", "Infinity", HUGE)
BAD = [
    "", "{", "[]", "3", "\x00", '{"date": 1}', "[" * 200_000,
    *(f'{{"date": {date}, "configs": {{}}}}' for date in DATES),
    '{"date": 1, "configs": {"t": {"metadata": {"measure": {}, "version": ' + HUGE + "}}}}",
    '{"date": 1, "configs": {"t": {"metadata": {"measure": {}, "dataset": ' + "[" * 90 + "]" * 90 + "}}}}",
    '{"date": 1, "configs": {}, "config": {"siq": {"system": ' + '{"a":' * 900 + "1" + "}" * 900 + "}}}",
    '{"date": 1, "configs": {}, "model_name": ' + "[" * 900 + "]" * 900 + "}",
    '{"date": 1, "configs": {"t": 5}}',
    '{"date": 1, "configs": {}, "config": {"siq": 5}}',
]  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_a_file_that_is_not_of_lm_eval_or_that_nothing_can_use(tmp_path, text):
    path = tmp_path / "results_2025-01-01T00-00-00.json"
    path.write_text(text)
    assert refusal(tmp_path).startswith(f"{str(path)!r}: is not a results file of lm-eval")


@pytest.mark.parametrize("name", ["a\x00b", "a\ud800b", "x" * 300])
def test_a_task_whose_name_no_file_can_have(tmp_path, name):
    write_run(tmp_path, {}, configs={name: {"metadata": describe("remember")}})
    message = refusal(tmp_path)
    assert "samples_" in message and message.isprintable()


@pytest.mark.parametrize(
    "results",
    [
        {"results": {"wer": math.nan, "text": "\ud800"}},
        {"higher_is_better": {"demo_0": {"half \ud800": True}}},
        {"n-samples": {"demo_0\ud800": {"effective": 1, "original": 1}}},
        {"config": {"siq": {"system": {"asr \udfff": {"model": "\ud800"}}}}},
        {"model_name": "half \ud800"},
    ],
)
def test_half_a_surrogate_pair_in_a_key_or_value_becomes_a_character_that_every_output_can_hold(tmp_path, results):
    write_run(tmp_path, levels(0.5), **results)
    (system,) = read_systems([tmp_path])
    for task in system.tasks:
        json.dumps([system.name, task.described, dict(task.signs)], ensure_ascii=False).encode()


def test_half_a_surrogate_pair_in_a_measure_is_one_line(tmp_path):
    described = {"range": [0, "\ud800"], "column": "wer", "direction": "lower", "unit": "WER %"}
    write_run(tmp_path, levels(0.5), metadata={"remember": {"measure": described, "suite": "s", "item": ["id"]}})
    assert "metadata.measure.range" in refusal(tmp_path)


@pytest.mark.slow
def test_of_a_large_results_file_only_what_is_needed_comes_into_memory(tmp_path):
    results = write_run(tmp_path, levels(0.5), results={str(i): [i] * 10 for i in range(100_000)})
    tracemalloc.start()
    try:
        assert read_systems([results])
        assert tracemalloc.get_traced_memory()[1] < 2.5 * results.stat().st_size
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_folders_1100_deep(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(1100):
        Path("d").mkdir()
        os.chdir("d")
    write_run(Path(), levels(0.5))
    try:
        assert [system.name for system in read_systems([tmp_path])] == ["system"]
    finally:
        subprocess.run(["rm", "-r", str(tmp_path / "d")], check=True)  # what pytest uses is recursive


@pytest.mark.parametrize(
    ("level", "column", "value", "told"),
    [
        ("remember", "wer", -5.0, "'wer' of clip 'demo/0' is -5, outside 0 to 1e+06 (4 of 4 rows); rerun"),
        ("remember", "wer", 1e308, "is 1e+308, outside 0 to 1e+06"),
        ("understand", "similarity", 7.0, "is 7, outside -1 to 1 (4 of 4 rows); rerun"),
        ("apply", "acc", 85.0, "is 85, outside 0 to 1 (12 of 12 rows); fractions are expected, such as 0.85; rerun"),
        ("apply", "acc", 1e150, "is 1e+150, outside 0 to 1 (12 of 12 rows); rerun"),
        ("apply", "acc", -0.25, "'acc' of clip 'demo/0' question 'demo/0#0' is -0.25, outside 0 to 1"),
        ("remember", "audio_coverage", 1.5, "'audio_coverage' of clip 'demo/0' is 1.5, outside 0 to 1"),
        ("apply", "unparsed", 20, "'unparsed' of clip 'demo/0' question 'demo/0#0' is 20, outside 0 to 1"),
        ("understand", "similarity", int(HUGE), "Number out of range"),
    ],
)
def test_a_value_outside_its_range_is_refused_by_line_item_and_column(tmp_path, level, column, value, told):
    results = write_run(tmp_path, levels(0.5), columns={level: {column: value}})
    message = refusal(results)
    assert told in message and f"{samples_of(results, f'demo_{[*LEVELS].index(level)}')}' line 1" in message


def test_rounding_may_take_a_cosine_above_1(tmp_path):
    write_run(tmp_path, {"understand": {"a": 1 + 1e-7}})
    assert read_systems([tmp_path])


def test_a_run_without_its_results_file_does_not_vanish(tmp_path):
    write_run(tmp_path / "a", levels(0.5), system="a")
    lost = write_run(tmp_path / "b", levels(0.6), system="b")
    lost.unlink()
    message = refusal(tmp_path)
    assert message.startswith(f"{str(samples_of(lost, 'demo_0'))!r} has scores, but no results file in its folder")
    assert "(3 such files)" in message and message.endswith("or add --allow-mismatch")
    systems = runs = read_systems([tmp_path], allow_missing=True)
    assert [system.name for system in systems] == ["a"] and len(runs.warnings) == 3
    assert all(line.endswith(": left out") for line in runs.warnings)


@pytest.mark.parametrize("configs", [{}, {"demo_0": {}, "demo_1": {"metadata": {}}, "demo_2": {"metadata": None}}])
def test_a_run_whose_tasks_are_not_described_does_not_vanish(tmp_path, configs):
    write_run(tmp_path / "a", levels(0.5), system="a")
    results = write_run(tmp_path / "b", levels(0.6), system="b")
    change_results(results, lambda content: content | {"configs": configs})
    assert "--allow-mismatch" in refusal(tmp_path) and "--allow-mismatch" in refusal(tmp_path / "a", results)
    assert [of.name for of in read_systems([tmp_path], allow_missing=True)] == ["a"]


def test_samples_of_other_peoples_tasks_are_ignored_quietly(tmp_path):
    write_run(tmp_path, levels(0.5))
    row = {"doc": {"id": "Mercury_7175875", "question": "Why?"}, "acc": 1.0, "metrics": ["acc"]}
    for name in ("samples_arc_easy_2025-01-01T00-00-01.000000", "samples_gsm8k_2026-01-01T00-00-00.0"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "samples_empty_2026-01-01T00-00-00.0.jsonl").touch()
    assert read_systems([tmp_path]).warnings == []


def test_dangling_link_to_results(tmp_path):
    (tmp_path / "results_2025-01-01T00-00-00.json").symlink_to(tmp_path / "gone")
    assert "cannot be read (No such file or directory)" in refusal(tmp_path)


def test_truncated_and_empty_samples(tmp_path):
    path = samples_of(write_run(tmp_path, levels(0.5)), "demo_1")
    path.write_bytes(path.read_bytes()[:-40])
    message = refusal(tmp_path)
    assert message.startswith(f"{str(path)!r} line 4 is not a whole JSON object") and "cut off" in message
    path.write_text("")
    assert refusal(tmp_path).startswith(f"{str(path)!r}: is empty")


def test_files_of_2_gb_are_refused_without_being_read(tmp_path):
    results = write_run(tmp_path, levels(0.5))
    path = samples_of(results, "demo_1")
    os.truncate(path, 2 * 2**30)
    tracemalloc.start()
    assert "line 5 is longer than 67108864 bytes" in refusal(tmp_path)
    os.truncate(results, 2 * 2**30)
    assert "cannot be read (it is larger than 268435456 bytes)" in refusal(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 256 * 2**20


@pytest.mark.parametrize("of_results", [True, False])
def test_a_pipe_is_not_waited_on(tmp_path, of_results):
    results = write_run(tmp_path, levels(0.5))
    path = results if of_results else samples_of(results, "demo_1")
    path.unlink()
    os.mkfifo(path)
    assert refusal(tmp_path).startswith(f"{str(path)!r}: cannot be read (it is not a plain file")


@pytest.mark.parametrize("other", [math.nan, math.inf, 0.5])
def test_a_number_that_json_does_not_have_changes_nothing_beside_it(tmp_path, other):
    row = sample_row("apply", 'a": NaN', 7, 1.0) | {"other": other, "unparsed": 0.2, "audio_coverage": None}
    table = read_sample_table(write_samples(tmp_path, "apply", row))
    assert table["item"].tolist() == [('a": NaN', "7")]
    assert table.number("acc").tolist() == [1.0] and table.number("unparsed").tolist() == [0.2]
    assert math.isnan(table.number("audio_coverage")[0]), "null is not known"
    assert table.numbers.keys() == {"acc", "unparsed", "audio_coverage"}


def test_equal_items_of_all_systems_are_one_object(tmp_path):
    for name in "ab":
        write_run(tmp_path / name, levels(0.5), system=name)
    one, other = read_systems([tmp_path])
    assert all(map(operator.is_, one.scores["apply"], other.scores["apply"]))


@pytest.mark.parametrize(
    ("level", "row"),
    [
        ("remember", {"doc": {"id": "a"}}),
        ("remember", {"doc": {"id": "a"}, "wer": "0.5"}),
        ("remember", {"doc": {"id": "a"}, "wer": None}),
        ("remember", {"doc": {"id": "a"}, "wer": 10**400}),
        ("remember", {"doc": {}, "wer": 0.5}),
        ("remember", {"wer": 0.5}),
        ("remember", []),
        ("apply", {"doc": {"id": "a"}, "acc": 1.0}),
    ],
)
def test_row_that_lacks_a_field(tmp_path, level, row):
    task = write_samples(tmp_path, level, row)
    with pytest.raises(SpeechIQError, match=rf"line 1 needs doc\.id.* the number '{LEVELS[level].column}'"):
        read_sample_table(task)


@pytest.mark.parametrize(("task", "named"), [("demo_0", "clip 'demo/0'"), ("demo_2", "question 'demo/0#0'")])
def test_item_scored_twice_in_a_file(tmp_path, task, named):
    path = samples_of(write_run(tmp_path, levels(0.5)), task)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, lines[0]]))
    message = refusal(tmp_path)
    assert f"line {len(lines) + 1}: " in message and f"{named} is scored twice in this file" in message


def test_clip_scored_by_two_tasks_of_a_level(tmp_path):
    write_run(tmp_path / "1", {"remember": {"a": 0.1}}, tasks="one")
    write_run(tmp_path / "2", {"remember": {"a": 0.3}}, tasks="two")
    assert "clip 'a' of system 'system' was already scored by another remember task" in refusal(tmp_path)


def test_clusters_are_joined_over_levels_and_systems(tmp_path):
    scores = {"remember": {"a": 0.25, "b": 0.5}, "apply": {"a": {"q1": 1.0}, "b": {"q1": 1.0}}}
    for system, levels_with in (("x", ["remember"]), ("y", ["apply"])):
        results = write_run(tmp_path / system, scores, system=system)
        for number, level in enumerate(scores):
            if level in levels_with:
                name_clusters(samples_of(results, f"demo_{number}"), {"a": "call", "b": 7})
    systems = read_systems([tmp_path])
    assert [system.clusters for system in systems] == [{"a": "call", "b": "7"}] * 2


def test_a_clip_in_two_clusters_is_refused(tmp_path):
    results = write_run(tmp_path, {"remember": {"a": 0.25}, "understand": {"a": 0.5}})
    for number, cluster in enumerate(("call", "talk")):
        name_clusters(samples_of(results, f"demo_{number}"), {"a": cluster})
    assert "clip 'a' is in cluster 'talk' here and in 'call' elsewhere; rerun one of the two" in refusal(tmp_path)


def name_clusters(samples: Path, clusters: dict) -> None:
    """Give the docs of a sample file their clusters."""
    change_rows(samples, lambda row: row["doc"].update(cluster=clusters[row["doc"]["id"]]))
