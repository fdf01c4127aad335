"""Define `siq eval`: run systems, score them and write a report, in one command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.evaluation.display import Display
from speechiq.cli.evaluation.plan import describe_work, refuse_norms
from speechiq.cli.evaluation.record import (
    FIX,
    Record,
    check_replaceable,
    describe_run,
    is_finished,
    read_record,
    write_record,
)
from speechiq.cli.evaluation.scores import PAGE, SCORES, publish
from speechiq.cli.options import EXPERT, AllowMismatch, Metadata, complete_system, complete_tasks, output_option
from speechiq.cli.scoring.options import NormsFile, read_norms
from speechiq.core.console import say, show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import check_output_folder, is_folder
from speechiq.harness_patch import processes
from speechiq.harness_patch.inventory import Inventory
from speechiq.harness_patch.processes import Settings, lm_eval_command
from speechiq.reducer.runs.results_file import CONDITION
from speechiq.siq_tasks.conditions.spec import parse_condition

LOGS = "logs"
NOT_IN_FILE_NAMES = r"[^\w.+-]"


@examples(
    "siq eval demo gold+demo:SmolLM2-135M-Instruct,llm_answer=likelihood letter:B --tasks siq_demo -o runs/first",
    "siq eval demo --tasks siq_demo --norms demo -o runs/one",
    "siq eval openai/whisper-large-v3+Qwen/Qwen2-7B-Instruct,asr_dtype=bfloat16 --tasks siq_all -o runs/all --dry-run",
)
def evaluate(
    systems: Annotated[
        list[str],
        typer.Argument(
            metavar="SYSTEM...",
            help="Systems as in pretrained=, each with its options after commas: SPEC,OPTION=VALUE. "
            "`siq list systems` lists engines, options and models.",
            autocompletion=complete_system,
            show_default=False,
        ),
    ],
    output: Annotated[Path, output_option("Folder for runs, scores, report and logs.")],
    tasks: Annotated[
        list[str],
        typer.Option(
            "--tasks",
            help="Tasks or groups, with commas between them; `siq list tasks` lists them.",
            autocompletion=complete_tasks,
        ),
    ] = ["siq_demo"],  # noqa: B006 (typer shows it as the default)
    limit: Annotated[
        int | None, typer.Option(min=1, help="Run only the first clips of each data set, for a trial.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Device of the models: cpu, cuda, cuda:1, mps; by default the accelerator.")
    ] = None,
    batch_size: Annotated[str, typer.Option(help="Items per batch: a whole number, or auto.")] = "auto",
    metadata: Metadata = None,
    include_path: Annotated[
        Path | None, typer.Option(help="Folder with further tasks, such as one of `siq data new`.")
    ] = None,
    norms_file: NormsFile = None,
    allow_mismatch: AllowMismatch = False,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Set the seed of all random numbers of this command; by default the seeds of lm-eval.",
            rich_help_panel=EXPERT,
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the output of lm-eval instead of progress.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check all, print the work, what is cached of it and the commands, and stop."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Run finished systems again, and replace files that exist.")
    ] = False,
) -> None:
    """Run systems, print their ranking and write a report.

    Each SYSTEM runs on the tasks; runs, scores and report are in the output folder. A system that is finished in the
    folder is not run again, and a stopped command goes on where it was.
    """
    settings = Settings(
        output,
        tuple(name for given in tasks for name in given.split(",") if name),
        batch_size,
        device,
        limit,
        seed,
        tuple(metadata or ()),
        include_path,
    )
    _check_form(systems)
    _check_settings(settings, norms_file, allow_mismatch)
    read_norms(norms_file, None)
    record = read_record(output)
    for path in (output / SCORES, output / PAGE):
        check_replaceable(record, path, force)
    with stop_in_one_line(f"the same command goes on with what is in {output} and in the response cache"):
        names, inventory = _check_systems(systems, settings, record, force or dry_run)
        if inventory is not None:
            settings = settings._replace(samples=inventory.samples)
            refuse_norms(inventory, norms_file)
        if dry_run and inventory is not None:
            show(*describe_work(inventory), *(shlex.join(lm_eval_command(system, settings)) for system in systems))
            return
        _run_all(names, settings, record, force=force, verbose=verbose)
        publish(settings, record, norms_file, allow_mismatch)


def _check_form(systems: Sequence[str]) -> None:
    """Refuse a system that is not a spec, with options after commas.

    Raises:
        SpeechIQError: Naming the part that is wrong.
    """
    for system in systems:
        spec, *options = system.split(",")
        if not spec or "=" in spec.partition(":")[0]:
            raise SpeechIQError(f"SYSTEM {system!r}: begins with no spec; write SPEC,OPTION=VALUE, such as demo")
        if wrong := [option for option in options if not re.match(r"\w+=.", option)]:
            raise SpeechIQError(f"SYSTEM {system!r}: {wrong[0]!r} is not an option; write OPTION=VALUE")


def _check_settings(settings: Settings, norms_file: str | None, allow_mismatch: bool) -> None:
    """Refuse what can be refused without reading anything.

    Raises:
        SpeechIQError: Naming the option.
    """
    if not settings.tasks:
        raise SpeechIQError("--tasks: no name given; give one such as siq_demo, `siq list tasks` lists them")
    _check_metadata(settings.metadata)
    if not re.fullmatch(r"auto(:\d+)?|[1-9]\d*", settings.batch_size):
        raise SpeechIQError(f"--batch-size {settings.batch_size}: give a whole number above 0, or auto")
    if settings.include_path is not None and not is_folder(settings.include_path):
        raise SpeechIQError(f"--include-path {settings.include_path}: no such folder; give one that has YAML tasks")
    if settings.limit and norms_file and not allow_mismatch:
        raise SpeechIQError(
            f"--limit {settings.limit} and --norms {norms_file}: norms were built on all clips; leave one of the two "
            "out, or add --allow-mismatch, which marks the scores"
        )
    check_output_folder(settings.output, FIX)


def _check_metadata(items: Sequence[str]) -> None:
    """Refuse what is not a key with a value, a key that is given twice, and a condition that cannot be read.

    Raises:
        SpeechIQError: Naming the item.
    """
    given: dict[str, str] = {}
    for item in items:
        if not re.match(r"[^=\s]+=.", item):
            raise SpeechIQError(f"--metadata {item}: not a key with a value; write KEY=VALUE")
        key, _, value = item.partition("=")
        if key in given:
            raise SpeechIQError(f"--metadata {item}: {key}={given[key]} is given too; give each key once")
        given[key] = value
    for key, value in given.items():
        if key.rpartition(".")[2] == CONDITION:
            parse_condition(value)


def _check_systems(
    systems: Sequence[str], settings: Settings, record: Record, force: bool
) -> tuple[dict[str, str], Inventory | None]:
    """Return the name of each system in results, after all checks that need no model, and the work of the run.

    Returns:
        (system -> its name, the work): None if all systems are finished and `force` is false.

    Raises:
        SpeechIQError: A system or task is not valid, or two systems have one name.
    """
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
            raise SpeechIQError(f"{system}: {names.count(name)} of the systems are called {name} in results; leave one")
        if name in runs and runs[name].system != system and not force:
            raise SpeechIQError(
                f"{system}: {settings.output} has a run of {runs[name].system}, and results call both {name}; "
                f"{FIX}, or replace the run with --force"
            )
    return dict(zip(systems, names, strict=True)), inventory


def _run_all(names: Mapping[str, str], settings: Settings, record: Record, *, force: bool, verbose: bool) -> None:
    """Run the systems that are not finished, and record each.

    Raises:
        SpeechIQError: Some systems failed; all others were run.
    """
    finished = {run.name for run in record.runs if names.get(run.system) == run.name and is_finished(run, settings)}
    todo = {system: name for system, name in names.items() if force or name not in finished}
    if len(todo) < len(names):
        say(f"{len(names) - len(todo)} of {len(names)} systems are finished in {settings.output} (--force runs again)")
    (settings.output / LOGS).mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    with Display(len(todo), drawn=not verbose) as display:
        for system, name in todo.items():
            before = _find_results(settings.output)
            log = _log_of(system, settings.output)
            display.start(system)
            try:
                _run_one(system, settings, log, display, verbose)
            except SpeechIQError as error:
                failures.append(f"{system}: {error}")
                display.finish(system, "failed")
                continue
            record.add(describe_run(name, system, settings, _find_results(settings.output) - before))
            write_record(record, settings.output)
            display.finish(system, "finished")
            for warning in processes.find_warnings(log) if log.exists() else ():
                say(f"{system}: {warning}")
    if failures:
        for failure in failures[:-1]:
            say(failure)
        raise SpeechIQError(
            f"{failures[-1]}; {len(failures)} of {len(todo)} systems failed, and the same command runs only these"
        )


def _run_one(system: str, settings: Settings, log: Path, display: Display, verbose: bool) -> None:
    if not verbose:
        processes.run_with_log(system, settings, log, display.update)
        return
    log.unlink(missing_ok=True)
    print(f"\n$ {shlex.join(lm_eval_command(system, settings))}", flush=True)
    if code := processes.run_in_view(system, settings):
        raise SpeechIQError(f"lm_eval ended with exit code {code}; the lines above show the reason")


def _log_of(system: str, output: Path) -> Path:
    return output / LOGS / f"{re.sub(NOT_IN_FILE_NAMES, '_', system)[:200]}.log"


def _find_results(folder: Path) -> set[Path]:
    return set(folder.glob("**/results_*.json"))
