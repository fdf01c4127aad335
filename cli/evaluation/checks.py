"""Check the plan of an evaluation before it starts, and show its work."""

import fnmatch
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from speechiq.cli.evaluation.record import FIX, Record, describe_shards, find_difference, is_finished, list_own_files
from speechiq.cli.options import read_pairs, split_names
from speechiq.core.cache.stage_cache import STAGES, StageCount, name_stage
from speechiq.core.console import count_of, say
from speechiq.core.endpoint.addresses import refuse_secrets
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import store_folder
from speechiq.core.files.plain import check_output_folder, exists, expand, is_file, is_folder
from speechiq.core.prompt import PROMPTS
from speechiq.core.suggestions import did_you_mean, suggest
from speechiq.harness_patch import processes
from speechiq.harness_patch.plan import Plan, needs_index
from speechiq.harness_patch.systems import spec
from speechiq.harness_patch.work import PlannedWork, SystemWork, unknown_task
from speechiq.metrics.settings import read_record
from speechiq.reducer.runs.results_file import CONDITION
from speechiq.reducer.scores.norms import Norms
from speechiq.siq_tasks.conditions.preset import PRESET, describe_preset, find_settings, read_preset
from speechiq.siq_tasks.conditions.prompts import read_prompt_file
from speechiq.siq_tasks.conditions.spec import LISTEN, QuestionSettings, parse_condition
from speechiq.siq_tasks.index import SUITE, list_names, list_tasks

#: Characters with a meaning in a system, which a path in it may therefore not have.
ODD = {"+", ",", "="}
#: Kinds of devices of torch.
DEVICES = ("cpu", "cuda", "mps", "xpu", "mtia", "hpu", "npu")
KEY_FIX = "set the environment variable OPENAI_API_KEY, or name one by key_variable"


def read_shard(shard: str | None, stages: str | None) -> tuple[int, int] | None:
    """Return number and count of a shard; stages alone are those of the only one.

    >>> print(read_shard(None, None))
    None
    """
    if shard is None and stages is None:
        return None
    option = f"--stages {stages}" if shard is None else f"--shard {shard}"
    numbers = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", shard or "1/1")
    if numbers is None or int(numbers[1]) > int(numbers[2]):
        raise SpeechIQError(option, "not I/N", "write the number of the shard, from 1, and their count, such as 2/4")
    if store_folder() is None:
        raise SpeechIQError(option, "the response cache is off", "set SIQ_STORE to a folder, or leave it unset")
    return int(numbers[1]), int(numbers[2])


def read_stages(stages: str | None) -> tuple[str, ...]:
    """Return the stages in their order; empty for all.

    >>> read_stages("judge,asr"), read_stages(None)
    (('asr', 'judge'), ())
    """
    names = split_names(stages)
    if unknown := [name for name in names if name not in STAGES]:
        raise SpeechIQError(f"--stages {stages}", f"{unknown[0]!r} is not a stage", suggest(unknown[0], STAGES))
    return tuple(name for name in STAGES if name in names)


def check_form(systems: Sequence[str]) -> None:
    """Refuse a system that is not a spec, with options after commas, before anything of it is printed."""
    refuse_secrets({"SYSTEM": list(systems)}, "siq eval:", KEY_FIX)
    for system in systems:
        if path := find_odd_path(system):
            raise SpeechIQError(
                path,
                "'+', ',' and '=' separate stages and options, so no file or folder with one can be named",
                f"rename it, or name a link to it: ln -s {shlex.quote(str(path.resolve()))} mine",
            )
        name, *options = system.split(",")
        if not name or "=" in name.partition(":")[0]:
            raise SpeechIQError(f"SYSTEM {system!r}", "begins with no spec", "write SPEC,OPTION=VALUE, such as demo")
        if wrong := [option for option in options if not re.match(r"\w+=.", option)]:
            raise SpeechIQError(f"SYSTEM {system!r}", f"{wrong[0]!r} is not an option", "write OPTION=VALUE")
        if missing := [file for file in list_own_files(system) if not is_file(file)]:
            raise SpeechIQError(f"SYSTEM {system!r}", f"{str(missing[0])!r}: no such file", "correct the path")


def find_odd_path(system: str) -> Path | None:
    """Return a file or folder with a character of `ODD` in its name that a system names; None without one.

    >>> find_odd_path("gold+demo:x,llm_answer=likelihood") is None
    True
    """
    starts = [0, *(mark.end() for mark in re.finditer(r"[+:=]", system))]
    ends = [len(system), *(mark.start() for mark in re.finditer(r"[+,]", system))]
    texts = (system[start:end] for start, end in product(starts, ends) if start < end)
    return next((expand(text) for text in texts if ODD & {*text} and exists(expand(text))), None)


def check_plan(plan: Plan, norms_file: str | None, allow_mismatch: bool) -> None:
    """Refuse what can be refused without reading anything; the error names the option."""
    refuse_secrets({"--metadata": list(plan.metadata)}, "siq eval:", KEY_FIX)
    if not plan.tasks:
        raise SpeechIQError("--tasks", "no name given", "give one such as siq_demo, `siq list tasks` lists them")
    _check_metadata(plan.metadata, plan.tasks)
    read_pairs("--gen_kwargs", plan.gen_kwargs)
    if not re.fullmatch(r"auto(:\d+)?|[1-9]\d*", str(plan.batch_size)):
        raise SpeechIQError(f"--batch-size {plan.batch_size}", "give a whole number above 0, or auto")
    if plan.device is not None and re.sub(r":\d+$", "", plan.device) not in DEVICES:
        near = did_you_mean(plan.device.lower().replace("gpu", "cuda"), DEVICES)
        raise SpeechIQError(f"--device {plan.device}", "not a kind of device", f"{near}give cpu, cuda, cuda:1 or mps")
    if plan.include_path is not None and not is_folder(Path(plan.include_path)):
        raise SpeechIQError(f"--include-path {plan.include_path}", "no such folder", "give one that has YAML tasks")
    if plan.limit and norms_file and not allow_mismatch:
        raise SpeechIQError(
            f"--limit {plan.limit} and --norms {norms_file}",
            "norms were built on all clips",
            "leave one of the two out, or add --allow-mismatch, which marks the scores",
        )
    check_output_folder(plan.folder, FIX)


def _check_metadata(items: Sequence[str], tasks: Sequence[str]) -> None:
    """Refuse what is not a key with a value, a key given twice, and an unknown condition, variant, preset or prompt."""
    for key, value in read_pairs("--metadata", items).items():
        if key.rpartition(".")[2] == CONDITION:
            parse_condition(value)
        if key.rpartition(".")[2] == LISTEN:
            read_record(QuestionSettings, {LISTEN: value})
        if key.rpartition(".")[2] == PROMPTS:
            say(f"{key}={value}: own prompts {', '.join(read_prompt_file(value))}")
        if key == PRESET:
            for line in _check_preset(value, tasks):
                say(line)


def _check_preset(name: str, tasks: Sequence[str]) -> list[str]:
    """Return the source of a preset and what differs from it, or refuse one that does not know one of the tasks."""
    read_preset(name)
    known = [task for task in list_tasks(check_files=False) if not task.names.isdisjoint(tasks)]
    for task in known:
        find_settings(name, task.name)
    return describe_preset(name, dict.fromkeys(task.category for task in known))


def check_systems(plan: Plan, record: Record, force: bool) -> tuple[dict[str, str], PlannedWork | None]:
    """Return the name of each system in results and the work, None if all are finished; no check needs a model."""
    work, systems = None, plan.systems
    known = {run.system: run.name for run in record.runs if is_finished(run, plan)}
    if force or not known.keys() >= set(systems):
        say(f"checking {len(systems)} systems" if len(systems) > 1 else f"checking {systems[0]}")
        processes.find_server()
        check_names(plan)
        work = processes.count_work(plan)
        known = {each.system: each.name for each in work.systems}
    names = [known[system] for system in systems]
    refuse_equal_names(systems, names)
    runs = {run.name: run for run in record.with_settings(plan)}
    for system, name in zip(systems, names, strict=True):
        if name in runs and runs[name].system != system and not force:
            raise SpeechIQError(
                system,
                f"{plan.output} has a run of {runs[name].system}, and results call both {name}",
                f"{FIX}, or replace the run with --force",
            )
    return dict(zip(systems, names, strict=True)), work


def refuse_equal_names(systems: Sequence[str], names: Sequence[str]) -> None:
    """Refuse systems that have one name in results."""
    for system, name in zip(systems, names, strict=True):
        if (count := names.count(name)) > 1:
            raise SpeechIQError(system, f"{count} of the systems are called {name} in results", "leave one")


def check_names(plan: Plan) -> None:
    """Refuse mistyped systems and tasks at once; all other checks begin with seconds of imports."""
    for system in plan.systems:
        spec.check_stages(system.partition(",")[0])
    if plan.include_path is not None:
        return
    known = sorted(list_names())
    for name in plan.tasks:
        is_known = bool(fnmatch.filter(known, name))
        if not is_known and not is_file(Path(name)) and not needs_index([name]):
            raise unknown_task(name, known)


def describe_work(work: PlannedWork) -> Iterator[str]:
    """Yield the work in words, a line each; each begins with `#`, so that the output with its commands is a script."""
    systems, tasks = len(work.systems), len(work.tasks)
    yield (
        f"# {count_of(systems, 'system')} x {count_of(tasks, 'task')}: {count_of(work.clips, 'clip')}, "
        f"{work.seconds / 3600:.2f} h of audio"
    )
    for task in work.tasks:
        sizes = f"{count_of(task.docs, 'doc')}, {count_of(task.clips, 'clip')}, {task.seconds / 3600:.2f} h"
        yield f"# {task.task}: {sizes}"
    for system in work.systems:
        yield f"# {system.system}: {_describe_cache(system)}"


def _describe_cache(system: SystemWork) -> str:
    cached = ", ".join(f"{stage.stage} {stage.cached} of {stage.rows} rows" for stage in system.stages)
    if not cached:
        return "runs no model"
    return f"cached: {cached}" if system.complete else f"cached: {cached}; later rows are not counted yet"


def refuse_norms(work: PlannedWork, norms_file: str | None, norms: Norms | None, allow_mismatch: bool) -> None:
    """Refuse norms if no task of the run is one of SIQ, or if the tasks on which they were built do not run."""
    suites = {task.suite for task in work.tasks} - {""}
    if norms_file and suites and SUITE not in suites:
        raise SpeechIQError(
            f"--norms {norms_file}",
            f"only SIQ has norms, and the tasks are of suite {', '.join(sorted(suites))}",
            "leave --norms out",
        )
    if norms is None or allow_mismatch:
        return
    needed = {str(task["task"]) for level in norms.levels.values() for task in level.tasks}
    if missing := sorted(needed - {task.task for task in work.tasks}):
        raise SpeechIQError(
            f"--norms {norms_file}",
            f"they were built on {missing[0]}, which this command does not run",
            f"leave --norms out, or run their tasks: --tasks {','.join(sorted(needed))}",
        )


def check_cached(work: PlannedWork, plan: Plan) -> None:
    """Say which rows of stages that were begun are missing in the response cache; refuse them if all are required."""
    reason = ""
    if difference := find_difference(describe_shards(plan), plan.folder):
        own, recorded = difference
        reason = f" ({own}, but shards in {plan.output} have {recorded})"
    for system in work.systems:
        for stage in system.stages:
            missing = stage.rows - stage.cached
            if missing and plan.require_cached:
                raise SpeechIQError(
                    f"--require-cached: {system.system}",
                    _describe_missing(stage) + reason,
                    "compute them, by the same command with --shard I/N or without --require-cached",
                )
            if missing and stage.cached:
                say(f"{system.system}: {_describe_missing(stage)}{reason}, and are computed now")


def _describe_missing(stage: StageCount) -> str:
    name = name_stage({"stage": stage.stage})
    return f"{stage.rows - stage.cached} of {stage.rows} rows of stage {name} are not in the response cache"
