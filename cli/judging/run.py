"""Define `siq judge run`: judge stored answers again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Force, JudgeOptions, Runs, output_option, read_judge_options
from speechiq.cli.stopping import stop_in_one_line
from speechiq.core.console import count_of, say
from speechiq.reducer.runs.judged import find_judged
from speechiq.reducer.studies.judges.rejudging import plan, rejudge
from speechiq.reducer.studies.judges.result_files import choose_targets, write_run


@examples(
    "siq judge run runs --judge openai:gpt-4o",
    "siq judge run runs --judge hf:Qwen/Qwen2.5-7B-Instruct --judge-option draws=3 --output runs-qwen",
    "siq judge run runs --judge hf:demo:SmolLM2-135M-Instruct --judge-option by=likelihood",
    "siq judge run runs --judge openai:judge --judge-option base_url=http://localhost:8000/v1",
)
def judge(
    runs: Runs,
    judge: Annotated[str, typer.Option(help="Judge, ENGINE:MODEL with a text engine, or exact_match for the rule.")],
    judge_option: JudgeOptions = None,
    output: Annotated[
        Path | None, output_option("Folder to write to; by default RUNS-judged-by-JUDGE beside RUNS.")
    ] = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
) -> None:
    """Judge the stored answers of RUNS again; no system runs.

    New results are written beside the old ones.
    """
    given = read_judge_options(judge_option) | {"judge": judge}
    tasks, warnings = find_judged(runs, allow_mismatch)
    for warning in warnings:
        say(f"warning: {warning}")
    with stop_in_one_line("the same command continues from the response cache"):
        plans = plan(tasks, given)
        targets = choose_targets(plans, runs, output, force)
        done = rejudge(plans)
        new = sum(
            write_run(target, [task for task in done if task.plan.task.results == results])
            for results, target in targets.items()
        )
    systems = len({task.system for task in tasks})
    answers, unjudged = (sum(counts) for counts in zip(*((task.answers, task.unjudged) for task in done), strict=True))
    folders = " ".join(sorted({str(target.folder) for target in targets.values()}))
    same = f", {len(targets) - new} unchanged" if new < len(targets) else ""
    say(
        f"{count_of(answers, 'answer')} of {count_of(systems, 'system')} judged by {judge}, {unjudged} unjudged; "
        f"wrote {count_of(new, 'run')}{same}; next: siq score {folders}"
    )
