"""Measure what the runs of `siq eval` cost beside their work: forked from one process, and by an interpreter each.

    python benchmarks/forked.py [--systems 1 3 5] [--rounds 2] [--limit N]

The systems answer with one letter, so that nothing but starts, tasks and files costs time; their embeddings are stored
by a first run. `forked` is `siq eval`. `interpreters` are the same check and the same runs, each by an interpreter that
imports for itself, and then `siq score` with the same outputs. `typo` is the time until a mistyped task is refused.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import measure

from speechiq.cli.evaluation.runs import PAGE, SCORES
from speechiq.harness_patch.plan import Plan, eval_command
from speechiq.harness_patch.processes import environment_of, run_command, work_command

SIQ = (sys.executable, "-m", "speechiq.cli.main")
TASKS = ("siq_demo",)


def run_forked(plan: Plan) -> None:
    """Run the systems by `siq eval`, once more if they are finished."""
    _, *words = eval_command(plan)
    measure.run_child([*SIQ, *words, "--force"])


def run_by_interpreters(plan: Plan) -> None:
    """Check and run the systems by interpreters of their own, and score them."""
    for module, arguments in (work_command("count", plan), *(run_command(system, plan) for system in plan.systems)):
        measure.run_child([sys.executable, "-m", module, *arguments], **environment_of(plan))
    outputs = [part for name in (SCORES, PAGE) for part in ("-o", str(plan.folder / name))]
    measure.run_child([*SIQ, "score", plan.output, *outputs, "--force"])


def refuse_typo(folder: Path) -> None:
    """Name a task that does not exist."""
    command = [*SIQ, "eval", "letter:A", "--tasks", "siq_dmo", "-o", str(folder)]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert "did you mean siq_demo?" in refused.stderr, refused.stderr


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, nargs="+", default=[1, 3, 5])
    parser.add_argument("--limit", type=int, help="clips, all by default")
    measure.rounds_option(parser, 2)
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SIQ_STORE"] = str(Path(folder, "store"))
        for number in args.systems:
            systems = tuple(f"letter:{letter}" for letter in "ABCDE"[:number])
            metadata = (f"embedder={measure.LLM}",)
            plans = {
                name: Plan(systems, TASKS, str(Path(folder, f"{name}{number}")), limit=args.limit, metadata=metadata)
                for name in ("forked", "interpreters")
            }
            run_forked(plans["forked"])
            ways = {
                "forked": partial(run_forked, plans["forked"]),
                "interpreters": partial(run_by_interpreters, plans["interpreters"]),
            }
            costs = measure.in_turn(ways, args.rounds)
            rows.append({"systems": number, **costs, **measure.ratio(costs["forked"], costs["interpreters"])})
        typos = measure.in_turn({"typo": partial(refuse_typo, Path(folder, "typo"))}, args.rounds)["typo"]
    print("systems  forked s  interpreters s   wall ratio   processor ratio")
    for row in rows:
        seconds = [min(cost.wall for cost in row[way]) for way in ("forked", "interpreters")]
        print(f"{row['systems']:7} {seconds[0]:9.1f} {seconds[1]:15.1f}   {row['wall']}   {row['processor']}")
    print(f"typo: {min(cost.wall for cost in typos):.2f} s")
    measure.write("forked", {"sizes": rows, "typo": typos})


if __name__ == "__main__":
    main()
