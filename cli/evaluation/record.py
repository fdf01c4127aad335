"""Record the finished systems of an evaluation and the options of its shards, so that the same command goes on."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files import json_text
from speechiq.core.files.json_text import content_sha256
from speechiq.core.files.plain import exists, expand, hash_file, is_file, refuse_to_overwrite
from speechiq.core.prompt import PROMPTS
from speechiq.harness_patch.plan import Plan
from speechiq.harness_patch.systems.spec import parse
from speechiq.reducer.runs.results_file import CONDITION
from speechiq.siq_tasks.conditions.spec import LISTEN
from speechiq.siq_tasks.index import TaskInfo, list_tasks
from speechiq.siq_tasks.questions.exam import PEOPLE
from speechiq.siq_tasks.questions.file import find_question_file

NAME, SHARDS = "eval.json", "shards"
SCHEMA = "speechiq-evaluation"
#: Settings that change no score.
NEUTRAL = ("systems", "output", "batch_size", "device", "samples", "shard", "stages", "require_cached", "allow_code")
#: Endings of the files of a folder of tasks that hold texts; its audio is checked by the tasks themselves.
TEXTS = (".yaml", ".jsonl", ".csv", ".tsv")
FIX = "choose another folder with --output"


class EvaluationRun(msgspec.Struct, frozen=True):
    """Hold a finished run: its system, by `name` in results and as the user wrote it, and what its scores depend on.

    `results` are its results files, below the folder of the evaluation; `inputs` is path -> sha256 of the files
    of transcripts, people, questions and prompts that it read.
    """

    name: str
    system: str
    settings: dict[str, Any]
    speechiq: str
    results: list[str]
    inputs: dict[str, str] = {}


class Record(msgspec.Struct):
    """Record the finished runs of a folder, one per system and settings.

    `outputs` is the sha256 of each output, and `norms` the scale of the last scores, by name or path.
    """

    schema: str = SCHEMA
    runs: list[EvaluationRun] = []
    outputs: dict[str, str] = {}
    norms: str | None = None

    def with_settings(self, plan: Plan) -> list[EvaluationRun]:
        """Return the runs that have these settings."""
        wanted = settings_of(plan)
        return [run for run in self.runs if run.settings == wanted]

    def sources(self, runs: Sequence[EvaluationRun], folder: Path) -> list[Path]:
        """Return the paths to score for some of the runs: the folder for all of them, else their results files."""
        if len(runs) == len(self.runs):
            return [folder]
        return [folder / file for run in runs for file in run.results]

    def add(self, run: EvaluationRun) -> None:
        """Add a run in the place of an earlier one of the same system and settings."""
        self.runs = [old for old in self.runs if (old.name, old.settings) != (run.name, run.settings)] + [run]


class ShardOptions(msgspec.Struct, frozen=True):
    """Hold the options that all shards in an output folder share: systems, and settings without conditions."""

    systems: tuple[str, ...]
    settings: dict[str, Any]


def read_evaluation(folder: Path) -> Record:
    """Return the record of a folder, empty if it has none; refuse a file that `write_evaluation` did not write."""
    file = folder / NAME
    record = json_text.load_record(file, Record, FIX) if exists(file) else Record()
    if record.schema != SCHEMA:
        raise SpeechIQError(file, "not a record of `siq eval`", FIX)
    return record


def write_evaluation(record: Record, folder: Path) -> None:
    """Write the record of a folder."""
    json_text.store_record(record, folder / NAME, FIX)


def settings_of(plan: Plan) -> dict[str, Any]:
    """Return the settings of a plan that scores depend on, as they are recorded."""
    kept = {name: getattr(plan, name) for name in plan.__struct_fields__ if name not in NEUTRAL}
    # In the types of JSON, since they are compared with what was read.
    settings: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(kept))
    return settings


def describe_finished_run(name: str, system: str, plan: Plan, results: Iterable[Path]) -> EvaluationRun:
    """Return what is recorded of a run that has just ended."""
    files = [os.path.relpath(file, plan.folder) for file in results]
    return EvaluationRun(name, system, settings_of(plan), version("speechiq"), sorted(files), hash_inputs(system, plan))


def is_finished(run: EvaluationRun, plan: Plan) -> bool:
    """Return whether a recorded run has these settings and inputs, and its files still exist."""
    same = run.settings == settings_of(plan) and run.speechiq == version("speechiq")
    same = same and run.inputs == hash_inputs(run.system, plan)
    return same and bool(run.results) and all(exists(plan.folder / file) for file in run.results)


def check_replaceable(record: Record, path: Path, force: bool) -> None:
    """Refuse to replace a file that has another content than the one that this record says was written."""
    if path.is_file() and record.outputs.get(path.name) == hash_file(path):
        return
    refuse_to_overwrite(path, force)


def hash_inputs(system: str, plan: Plan) -> dict[str, str]:
    """Return path -> sha256 of files of transcripts, people, questions and prompts, and of `--include-path`'s texts."""
    own = [*list_own_files(system), *_prompts(plan.metadata)]
    files = dict.fromkeys([*own, *_questions(plan.tasks), *_texts(plan.include_path)])
    return {str(file): hash_file(file) for file in files if is_file(file)}


def list_own_files(system: str) -> Iterator[Path]:
    """Yield the files of transcripts and of people that a system reads."""
    try:
        stages = parse(system.partition(",")[0])
    except SpeechIQError:  # an alias such as `demo`, which reads no file
        return
    yield from (expand(stage.model) for stage in stages if stage.engine in ("transcripts", PEOPLE))


def _prompts(metadata: Sequence[str]) -> Iterator[Path]:
    for item in metadata:
        key, _, file = item.partition("=")
        if key.rpartition(".")[2] == PROMPTS:
            yield expand(file)


def _questions(names: tuple[str, ...]) -> Iterator[Path]:
    for task in _list_apply_tasks():
        if not task.names.isdisjoint(names) and (file := find_question_file(task.dataset)):
            yield file


@cache
def _list_apply_tasks() -> list[TaskInfo]:
    """Return the Apply tasks, from YAMLs that do not change in a run."""
    return [task for task in list_tasks(check_files=False) if task.level == "apply"]


def _texts(folder: str | None) -> Iterator[Path]:
    if folder is not None:
        yield from (file for file in sorted(Path(folder).rglob("*")) if file.suffix.lower() in TEXTS)


def describe_shards(plan: Plan) -> ShardOptions:
    """Return the options that shards of a plan record; conditions may differ."""
    kept = [item for item in plan.metadata if item.partition("=")[0].rpartition(".")[2] not in (CONDITION, LISTEN)]
    return ShardOptions(plan.systems, settings_of(plan.change(metadata=tuple(kept))))


def record_shards(options: ShardOptions, output: Path, *, force: bool) -> None:
    """Record the options of a shard beside those of others, or in their place (`force`)."""
    name = content_sha256(msgspec.to_builtins(options))[:16]
    for file in (output / SHARDS).glob("*.json") if force else ():
        file.unlink(missing_ok=True)
    json_text.store_record(options, output / SHARDS / f"{name}.json", FIX)


def check_shards(options: ShardOptions, output: Path) -> None:
    """Refuse a shard with other options than those of the shards in the same folder."""
    if difference := find_difference(options, output):
        own, recorded = difference
        raise SpeechIQError(
            own,
            f"shards in {output} have {recorded}",
            "give the options that they have, name another --output, or begin anew with --force",
        )


def find_difference(options: ShardOptions, output: Path) -> tuple[str, str] | None:
    """Return the first option that shards in a folder have with another value: as it is here, and as they have it."""
    for file in sorted((output / SHARDS).glob("*.json")):
        recorded = json_text.load_record(file, ShardOptions, FIX)
        for name, value in options.settings.items():
            if value != recorded.settings.get(name):
                return _in_words(name, value), _in_words(name, recorded.settings.get(name))
        for system in set(options.systems) - set(recorded.systems):
            for other in recorded.systems:
                if system.partition(",")[0] == other.partition(",")[0]:
                    return system, other
    return None


def _in_words(name: str, value: Any) -> str:
    """Return an option as it is typed.

    >>> _in_words("include_path", "mine"), _in_words("tasks", ["a", "b"]), _in_words("limit", None)
    ('--include-path mine', '--tasks a,b', 'no --limit')
    """
    option = f"--{name.replace('_', '-')}"
    text = ",".join(map(str, value)) if isinstance(value, list) else value
    return f"no {option}" if text in (None, "") else f"{option} {text}"
