"""Check an evaluation before it starts, and show its work."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from speechiq.cli.evaluation.record import FIX, Record, is_finished
from speechiq.core.console import count_of, say
from speechiq.core.endpoint.addresses import refuse_secrets
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import check_output_folder, exists, expand, is_folder
from speechiq.harness_patch import processes
from speechiq.harness_patch.inventory import Inventory, SystemWork
from speechiq.harness_patch.processes import Settings
from speechiq.reducer.runs.results_file import CONDITION
from speechiq.reducer.scores.norms import Norms
from speechiq.siq_tasks.catalog.suite import SUITE
from speechiq.siq_tasks.catalog.tasks import list_tasks
from speechiq.siq_tasks.conditions.preset import PRESET, describe_preset, find_settings, read_preset
from speechiq.siq_tasks.conditions.spec import parse_condition
from speechiq.siq_tasks.conditions.variants import LISTEN, parse_listen

#: Characters with a meaning in a system, which a path in it may therefore not have.
ODD = {"+", ",", "="}
KEY_FIX = "set the environment variable OPENAI_API_KEY, or name one by key_variable"


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
        spec, *options = system.split(",")
        if not spec or "=" in spec.partition(":")[0]:
            raise SpeechIQError(f"SYSTEM {system!r}", "begins with no spec", "write SPEC,OPTION=VALUE, such as demo")
        if wrong := [option for option in options if not re.match(r"\w+=.", option)]:
            raise SpeechIQError(f"SYSTEM {system!r}", f"{wrong[0]!r} is not an option", "write OPTION=VALUE")


def find_odd_path(system: str) -> Path | None:
    """Return a file or folder with a character of `ODD` in its name that a system names; None without one.

    >>> find_odd_path("gold+demo:x,llm_answer=likelihood") is None
    True
    """
    starts = [0, *(mark.end() for mark in re.finditer(r"[+:=]", system))]
    ends = [len(system), *(mark.start() for mark in re.finditer(r"[+,]", system))]
    texts = (system[start:end] for start, end in product(starts, ends) if start < end)
    return next((expand(text) for text in texts if ODD & {*text} and exists(expand(text))), None)


def check_settings(settings: Settings, norms_file: str | None, allow_mismatch: bool) -> None:
    """Refuse what can be refused without reading anything; the error names the option."""
    refuse_secrets({"--metadata": list(settings.metadata)}, "siq eval:", KEY_FIX)
    if not settings.tasks:
        raise SpeechIQError("--tasks", "no name given", "give one such as siq_demo, `siq list tasks` lists them")
    _check_metadata(settings.metadata, settings.tasks)
    _check_pairs("--gen_kwargs", settings.gen_kwargs)
    if not re.fullmatch(r"auto(:\d+)?|[1-9]\d*", settings.batch_size):
        raise SpeechIQError(f"--batch-size {settings.batch_size}", "give a whole number above 0, or auto")
    if settings.include_path is not None and not is_folder(settings.include_path):
        raise SpeechIQError(f"--include-path {settings.include_path}", "no such folder", "give one that has YAML tasks")
    if settings.limit and norms_file and not allow_mismatch:
        raise SpeechIQError(
            f"--limit {settings.limit} and --norms {norms_file}",
            "norms were built on all clips",
            "leave one of the two out, or add --allow-mismatch, which marks the scores",
        )
    check_output_folder(settings.output, FIX)


def _check_metadata(items: Sequence[str], tasks: Sequence[str]) -> None:
    """Refuse what is not a key with a value, a key that is given twice, and an unknown condition, variant or preset."""
    for key, value in _check_pairs("--metadata", items).items():
        if key.rpartition(".")[2] == CONDITION:
            parse_condition(value)
        if key.rpartition(".")[2] == LISTEN:
            parse_listen(value)
        if key == PRESET:
            for line in _check_preset(value, tasks):
                say(line)


def _check_pairs(option: str, items: Sequence[str]) -> dict[str, str]:
    """Return the keys and values of an option; refuse what is not a key with a value, and a key that is given twice."""
    given: dict[str, str] = {}
    for item in items:
        if not re.match(r"[^=\s]+=.", item):
            raise SpeechIQError(f"{option} {item}", "not a key with a value", "write KEY=VALUE")
        key, _, value = item.partition("=")
        if key in given:
            raise SpeechIQError(f"{option} {item}", f"{key}={given[key]} is given too", "give each key once")
        given[key] = value
    return given


def _check_preset(name: str, tasks: Sequence[str]) -> list[str]:
    """Return the source of a preset and what differs from it, or refuse one that does not know one of the tasks."""
    read_preset(name)
    known = [task for task in list_tasks(check_files=False) if not task.names.isdisjoint(tasks)]
    for task in known:
        find_settings(name, task.name)
    return describe_preset(name, dict.fromkeys(task.category for task in known))


def check_systems(
    systems: Sequence[str], settings: Settings, record: Record, force: bool
) -> tuple[dict[str, str], Inventory | None]:
    """Return the name of each system in results and the work, None if all are finished; no check needs a model."""
    inventory = None
    known = {run.system: run.name for run in record.runs if is_finished(run, settings)}
    if force or not known.keys() >= set(systems):
        say(f"checking {len(systems)} systems" if len(systems) > 1 else f"checking {systems[0]}")
        inventory = processes.check(systems, settings)
        known = {work.system: work.name for work in inventory.systems}
    names = [known[system] for system in systems]
    runs = {run.name: run for run in record.with_settings(settings)}
    for system, name in zip(systems, names, strict=True):
        if names.count(name) > 1:
            raise SpeechIQError(system, f"{names.count(name)} of the systems are called {name} in results", "leave one")
        if name in runs and runs[name].system != system and not force:
            raise SpeechIQError(
                system,
                f"{settings.output} has a run of {runs[name].system}, and results call both {name}",
                f"{FIX}, or replace the run with --force",
            )
    return dict(zip(systems, names, strict=True)), inventory


def describe_work(inventory: Inventory) -> Iterator[str]:
    """Yield the work in words, a line each; each begins with `#`, so that the output with its commands is a script."""
    systems, tasks = len(inventory.systems), len(inventory.tasks)
    yield (
        f"# {count_of(systems, 'system')} x {count_of(tasks, 'task')}: {count_of(inventory.clips, 'clip')}, "
        f"{inventory.seconds / 3600:.2f} h of audio"
    )
    for task in inventory.tasks:
        sizes = f"{count_of(task.docs, 'doc')}, {count_of(task.clips, 'clip')}, {task.seconds / 3600:.2f} h"
        yield f"# {task.task}: {sizes}"
    for system in inventory.systems:
        yield f"# {system.system}: {_describe_cache(system)}"


def _describe_cache(system: SystemWork) -> str:
    cached = ", ".join(f"{stage.stage} {stage.cached} of {stage.rows} rows" for stage in system.stages)
    if not cached:
        return "runs no model"
    return f"cached: {cached}" + "; later rows are not counted yet" * (not system.complete)


def refuse_norms(inventory: Inventory, norms_file: str | None, norms: Norms | None, allow_mismatch: bool) -> None:
    """Refuse norms if no task of the run is one of SIQ, or if the tasks on which they were built do not run."""
    suites = {task.suite for task in inventory.tasks} - {""}
    if norms_file and suites and SUITE not in suites:
        raise SpeechIQError(
            f"--norms {norms_file}",
            f"only SIQ has norms, and the tasks are of suite {', '.join(sorted(suites))}",
            "leave --norms out",
        )
    if norms is None or allow_mismatch:
        return
    needed = {str(task["task"]) for level in norms.levels.values() for task in level.tasks}
    if missing := sorted(needed - {task.task for task in inventory.tasks}):
        raise SpeechIQError(
            f"--norms {norms_file}",
            f"they were built on {missing[0]}, which this command does not run",
            f"leave --norms out, or run their tasks: --tasks {','.join(sorted(needed))}",
        )
