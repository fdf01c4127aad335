"""Define `siq eval`: run systems, score them and write a report, in one command."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.evaluation.checks import check_form, check_settings, check_systems, describe_work, refuse_norms
from speechiq.cli.evaluation.record import check_replaceable, read_record
from speechiq.cli.evaluation.runs import run_all
from speechiq.cli.evaluation.scores import PAGE, SCORES, publish
from speechiq.cli.options import (
    EXPERT,
    AllowMismatch,
    Explain,
    Metadata,
    complete_system,
    complete_tasks,
    output_option,
)
from speechiq.cli.scoring.options import NormsFile, read_norms
from speechiq.core.console import show
from speechiq.harness_patch.processes import Settings, lm_eval_command
from speechiq.siq_tasks.conditions.preset import PRESET


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
    preset: Annotated[
        str | None,
        typer.Option(
            help="Run with the prompts and settings behind numbers that others print: voicebench or lmms-eval."
        ),
    ] = None,
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
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check all, print the work, what is cached of it and the commands, and stop."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Run finished systems again, and replace files that exist.")
    ] = False,
    explain: Explain = False,
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
        (*(metadata or ()), *([] if preset is None else [f"{PRESET}={preset}"])),
        include_path,
    )
    check_form(systems)
    check_settings(settings, norms_file, allow_mismatch)
    read_norms(norms_file, None)
    record = read_record(output)
    for path in (output / SCORES, output / PAGE):
        check_replaceable(record, path, force)
    with stop_in_one_line(f"the same command goes on with what is in {output} and in the response cache"):
        names, inventory = check_systems(systems, settings, record, force or dry_run)
        if inventory is not None:
            settings = settings._replace(samples=inventory.samples)
            refuse_norms(inventory, norms_file)
        if dry_run and inventory is not None:
            show(*describe_work(inventory), *(shlex.join(lm_eval_command(system, settings)) for system in systems))
            return
        run_all(names, settings, record, inventory.systems if inventory is not None else [], force)
        publish(settings, record, norms_file, allow_mismatch, explain)
