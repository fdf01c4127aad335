"""Define `siq data exam`: write a page on which people take the test."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.options import (
    AllowCode,
    Force,
    Metadata,
    choose_file,
    complete_tasks,
    output_option,
    split_names,
)
from speechiq.core.console import count_of, show
from speechiq.core.files.plain import (
    OWN_FILE,
    write_whole,
)


@examples(
    "siq data exam siq_demo -o exam.html",
    "siq data exam siq_demo --limit 3 -o exam.html",
    "siq data exam siq_calls --include-path calls -o calls.html --force",
)
def write_exam(
    tasks: Annotated[
        str,
        typer.Argument(
            help="Tasks or groups, with commas between them, that want transcripts or have options.",
            autocompletion=complete_tasks,
        ),
    ],
    output: Annotated[Path, output_option("Page to write, such as exam.html.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Take only the first clips of each data set.")] = None,
    metadata: Metadata = None,
    include_path: Annotated[
        Path | None, typer.Option(help="Folder with further tasks, such as one of `siq data new`.")
    ] = None,
    allow_code: AllowCode = False,
    force: Force = False,
) -> None:
    """Write a page on which people take the test, offline.

    A person hears each clip, writes down what is said, answers its questions, and saves a file. `siq eval people:FILE`
    scores it like a system. The page has the sound inside, and neither references nor right letters.
    """
    from speechiq.cli.evaluation.checks import check_plan
    from speechiq.harness_patch.exam import open_exam
    from speechiq.harness_patch.plan import Plan, eval_command
    from speechiq.reducer.output.page.review import render_exam

    endings = (".html", ".htm")
    page = choose_file([output], endings, force, "the exam is a page", "name one such as exam.html")
    names = split_names(tasks)
    folder = None if include_path is None else str(include_path)
    plan = Plan(
        systems=(),
        tasks=tuple(names),
        output=str(page.parent),
        limit=limit,
        metadata=tuple(metadata or ()),
        include_path=folder,
        allow_code=allow_code,
    )
    check_plan(plan, None, False)
    command = shlex.join(eval_command(plan.change(systems=("people:NAME.jsonl",), output="runs/people")))
    with stop_in_one_line():
        exam = open_exam(plan)
        text = render_exam(exam, names, command)
    write_whole(page, text.encode(errors="replace"), OWN_FILE)
    asked = f" and {count_of(exam.questions, 'question')}" if exam.questions else ""
    show(
        f"wrote {page}: {count_of(len(exam.clips), 'clip')}{asked}, {page.stat().st_size / 1e6:.1f} MB. "
        "Each person opens it in a browser and saves a file, for:",
        f"  {command}",
    )
