"""Define `siq judge`: judge stored answers again, and measure how far a judge can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from speechiq.cli import judge_agreement, judge_check
from speechiq.cli.examples import examples
from speechiq.cli.judge_options import read_judge_options
from speechiq.cli.options import AllowMissing, Force, Runs
from speechiq.cli.stopping import stop_in_one_line
from speechiq.core.console import count_of, say
from speechiq.reducer.runs.judged import find_judged
from speechiq.reducer.studies.judges.rejudging import plan, rejudge
from speechiq.reducer.studies.judges.result_files import choose_targets, write_run

RUN = "run"
EXAMPLES = examples(
    "siq judge runs --judge openai:gpt-4o",
    "siq judge runs --judge hf:Qwen/Qwen2.5-7B-Instruct --draws 3 --output runs-qwen",
    "siq judge runs --judge hf:demo:SmolLM2-135M-Instruct --by likelihood",
    "siq judge runs --judge openai:judge --judge-option base_url=http://localhost:8000/v1",
)


class JudgeGroup(TyperGroup):
    """The commands of `siq judge`; `siq judge RUNS ...`, without the name of one, means `siq judge run RUNS ...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the group, after naming the command."""
        return super().parse_args(ctx, self.name_command(args, ctx.help_option_names))

    def name_command(self, args: list[str], options: Sequence[str] = ()) -> list[str]:
        """Return the arguments with the name of the usual command in front, unless a command or an option is named.

        Args:
            args: What the user wrote after `siq judge`.
            options: Options of the group itself.
        """
        return args if not args or args[0] in (*self.commands, *options) else [RUN, *args]


app = typer.Typer(
    cls=JudgeGroup,
    no_args_is_help=True,
    subcommand_metavar="RUNS --judge ENGINE:MODEL | COMMAND ...",
    help="Judge stored answers again (`siq judge RUNS --judge ENGINE:MODEL`), and check how far a judge is right.",
)
app.command("check", epilog=judge_check.EXAMPLES)(judge_check.check)
app.command("agree", epilog=judge_agreement.EXAMPLES)(judge_agreement.agree)


@app.command(RUN, epilog=EXAMPLES)
def judge(
    runs: Runs,
    judge: Annotated[
        str,
        typer.Option(metavar="ENGINE:MODEL", help="Judge: a text engine and its model, or exact_match for the rule."),
    ],
    rubric: Annotated[
        str | None, typer.Option(help="Rubric by name, or a YAML file; by default that of each task.")
    ] = None,
    draws: Annotated[int | None, typer.Option(help="Set the number of draws per answer; 1 by default.")] = None,
    seed: Annotated[int | None, typer.Option(help="Set the seed of the draws; 1 by default.")] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="generate|likelihood",
            help="Read the score from a written reply (default), or from the probabilities of the grades.",
        ),
    ] = None,
    judge_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Option of the judge, such as base_url=URL or temperature=0.7; give it once per option.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder to write to; by default RUNS-judged-by-JUDGE beside RUNS."),
    ] = None,
    allow_missing: AllowMissing = False,
    force: Force = False,
) -> None:
    """Judge the stored answers of RUNS again, and write new results beside the old ones; no system runs."""
    given = read_judge_options(judge_option or ())
    named = {"rubric": rubric, "draws": draws, "seed": seed, "by": by}
    given |= {f"judge_{name}": value for name, value in named.items() if value is not None} | {"judge": judge}
    tasks, warnings = find_judged(runs, allow_missing)
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
