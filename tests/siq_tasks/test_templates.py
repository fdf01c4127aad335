"""Task folders made by others: read without running what they name, and refused by file and key."""

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.index import HERE, LARGEST, list_clips, place_questions, read_task

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
        ("include: [a.yaml]", r"a\.yaml: no such task file"),
        ("include: nowhere.yaml", r"nowhere\.yaml: no such task file"),
        ("include: ../..", "no such task file"),
        ("task: x", r"siq_x_remember\.yaml: metadata: None is not a mapping"),
        (TASK.format(loader=OURS, metadata="{1: 2}"), r"metadata: {1: 2} is not"),
        (TASK.format(loader=OURS, metadata="{level: remember}"), r"metadata\.dataset: None is not a plain name"),
        (TASK.format(loader=OURS, metadata="{dataset: ../../x}"), r"metadata\.dataset: '\.\./\.\./x' is not a plain"),
        (TASK.format(loader=OURS, metadata="{dataset: x}"), r"metadata\.dataset_path: missing"),
        (TASK.format(loader="this.that", metadata="{dataset: x}"), "custom_dataset: 'this.that' is not a loader of sp"),
    ],
)
def test_a_task_file_that_cannot_be_is_named_with_its_key(tmp_path, text, message):
    with pytest.raises(SpeechIQError, match=message):
        list_clips(write(tmp_path, text))


def test_files_that_include_each_other_are_named(tmp_path):
    tmp_path.joinpath("a.yaml").write_text("include: b.yaml")
    tmp_path.joinpath("b.yaml").write_text("include: a.yaml")
    with pytest.raises(SpeechIQError, match=r"b\.yaml: include: a\.yaml includes this file; remove one include"):
        read_task(tmp_path / "a.yaml")


def test_no_module_that_a_task_names_is_imported(tmp_path, monkeypatch):
    tmp_path.joinpath("evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = write(tmp_path, TASK.format(loader="evil.load", metadata="{dataset: x}"))
    for ask in (list_clips, place_questions):
        with pytest.raises(SpeechIQError, match=r"custom_dataset: 'evil\.load' is not a loader of speechiq"):
            ask(folder)


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
