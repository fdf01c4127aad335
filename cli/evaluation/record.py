"""Record the finished systems of an evaluation; the same command then runs only the others."""

import os
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files import json_text
from speechiq.core.files.plain import exists, expand, hash_file, is_file, refuse_to_overwrite
from speechiq.harness_patch.processes import Settings
from speechiq.harness_patch.systems.spec import parse
from speechiq.siq_tasks.catalog.tasks import TaskInfo, list_tasks
from speechiq.siq_tasks.questions.location import find_question_file

NAME = "eval.json"
SCHEMA = "speechiq-evaluation"
#: Settings that change no score.
NEUTRAL = ("output", "batch_size", "device", "samples", "shard", "stages", "require_cached", "allow_code")
#: Endings of the files of a folder of tasks that hold texts; its audio is checked by the tasks themselves.
TEXTS = (".yaml", ".jsonl", ".csv", ".tsv")
FIX = "choose another folder with --output"


class EvaluationRun(msgspec.Struct, frozen=True):
    """Hold a finished run: its system, by `name` in results and as the user wrote it, and what its scores depend on.

    `results` are its results files, below the folder of the evaluation; `inputs` is path -> sha256 of the transcript
    and question files that it read.
    """

    name: str
    system: str
    settings: dict[str, Any]
    speechiq: str
    results: list[str]
    inputs: dict[str, str] = {}


class Record(msgspec.Struct):
    """Record the finished runs of a folder, one per system and settings, and the sha256 of each output."""

    schema: str = SCHEMA
    runs: list[EvaluationRun] = []
    outputs: dict[str, str] = {}

    def with_settings(self, settings: Settings) -> list[EvaluationRun]:
        """Return the runs that have these settings."""
        wanted = describe(settings)
        return [run for run in self.runs if run.settings == wanted]

    def add(self, run: EvaluationRun) -> None:
        """Add a run in the place of an earlier one of the same system and settings."""
        self.runs = [old for old in self.runs if (old.name, old.settings) != (run.name, run.settings)] + [run]


def read_record(folder: Path) -> Record:
    """Return the record of a folder, empty if it has none; refuse a file that `write_record` did not write."""
    file = folder / NAME
    record = json_text.read_record(file, Record, FIX) if exists(file) else Record()
    if record.schema != SCHEMA:
        raise SpeechIQError(file, "not a record of `siq eval`", FIX)
    return record


def write_record(record: Record, folder: Path) -> None:
    """Write the record of a folder."""
    json_text.write_record(record, folder / NAME, FIX)


def describe(settings: Settings) -> dict[str, Any]:
    """Return the settings that scores depend on, as they are recorded."""
    kept: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode(
            {key: value for key, value in settings._asdict().items() if key not in NEUTRAL}, enc_hook=str
        )
    )
    return kept


def describe_run(name: str, system: str, settings: Settings, results: Iterable[Path]) -> EvaluationRun:
    """Return what is recorded of a run that has just ended."""
    files = [os.path.relpath(file, settings.output) for file in results]
    return EvaluationRun(
        name, system, describe(settings), version("speechiq"), sorted(files), hash_inputs(system, settings)
    )


def is_finished(run: EvaluationRun, settings: Settings) -> bool:
    """Return whether a recorded run has these settings and inputs, and its files still exist."""
    same = run.settings == describe(settings) and run.speechiq == version("speechiq")
    same = same and run.inputs == hash_inputs(run.system, settings)
    return same and bool(run.results) and all(exists(settings.output / file) for file in run.results)


def check_replaceable(record: Record, path: Path, force: bool) -> None:
    """Refuse to replace a file that has another content than the one that this record says was written."""
    if path.is_file() and record.outputs.get(path.name) == hash_file(path):
        return
    refuse_to_overwrite(path, force)


def hash_inputs(system: str, settings: Settings) -> dict[str, str]:
    """Return path -> sha256 of transcript files, question files, and the texts of `--include-path`."""
    files = dict.fromkeys([*_transcripts(system), *_questions(settings.tasks), *_texts(settings.include_path)])
    return {str(file): hash_file(file) for file in files if is_file(file)}


def _transcripts(system: str) -> Iterator[Path]:
    try:
        stages = parse(system.partition(",")[0])
    except SpeechIQError:  # an alias such as `demo`, which reads no file
        return
    yield from (expand(stage.model) for stage in stages if stage.engine == "transcripts")


def _questions(names: tuple[str, ...]) -> Iterator[Path]:
    for task in _list_apply_tasks():
        if not task.names.isdisjoint(names) and (file := find_question_file(task.dataset)):
            yield file


@cache
def _list_apply_tasks() -> list[TaskInfo]:
    """Return the Apply tasks, from YAMLs that do not change in a run."""
    return [task for task in list_tasks(check_files=False) if task.level == "apply"]


def _texts(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield from (file for file in sorted(folder.rglob("*")) if file.suffix.lower() in TEXTS)
