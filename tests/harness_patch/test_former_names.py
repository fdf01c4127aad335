"""Task folders and transcript files that users wrote for earlier versions still load."""

import math

from lm_eval.tasks import TaskManager

from speechiq.engines.asr.transcript_file import TranscriptFile
from speechiq.siq_tasks.suite import HERE
from speechiq.siq_tasks.templates import Function, read_task, write_task
from tests.engines.opener import open_engine
from tests.records import named


def load(folder, **metadata):
    """Load the task `siq_former_remember` of a folder with what `--metadata` gives."""
    manager = TaskManager(include_path=str(folder), include_defaults=False, metadata=metadata)
    return manager.load("siq_former_remember")["tasks"]["siq_former_remember"]


def write(folder, **metadata):
    """Write a task folder like those of users, over the clips of the demo."""
    task = read_task(HERE / "levels" / "_remember.yaml")
    about = {"version": 1.0, "level": "remember", "dataset": "demo", "prompt_version": 1} | metadata
    loader = Function("speechiq.siq_tasks.demo.demo.load")
    write_task(
        folder / "siq_former_remember.yaml",
        {"task": "siq_former_remember", "custom_dataset": loader} | task | {"metadata": about},
    )
    return folder


def test_a_task_folder_with_the_former_key_loads(tmp_path):
    task = load(write(tmp_path, normaliser="basic"))
    assert task.config.metadata["normalizer"] == "basic" and "normaliser" not in task.config.metadata
    assert task.test_docs()[0]["normalizer"] == "basic"


def test_what_is_given_on_the_command_line_wins_under_either_name(tmp_path):
    for in_file, given in (("normaliser", "normalizer"), ("normalizer", "normaliser"), ("normaliser", "normaliser")):
        task = load(write(tmp_path, **{in_file: "english"}), **{given: "multilingual"})
        assert task.config.metadata["normalizer"] == "multilingual", (in_file, given)


def test_a_transcript_file_with_the_former_key_is_read(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text('{"id": "a", "text": "yes", "heard": 0.5}\n{"id": "b", "text": "no"}\n')
    a, b = open_engine(TranscriptFile, str(file), batch_size=1).transcribe([named("a"), named("b")])
    assert a.coverage == 0.5 and math.isnan(b.coverage)
