"""Define `siq judge check`: let persons score judged answers, and compare the judge with them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Force, Runs, Samples, Seed, output_option
from speechiq.core.console import count_of, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import OWN_FILE, check_output, write_whole
from speechiq.reducer.runs.judged import JudgedRow, find_judged, read_judged
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.studies.judges.check import FEWEST, as_grids
from speechiq.reducer.studies.judges.check import check as compare
from speechiq.reducer.studies.judges.human_scores import read_human_scores
from speechiq.reducer.studies.judges.sample import choose
from speechiq.reducer.studies.judges.settings import JudgeSettings, read_settings
from speechiq.reducer.tables.origin import command_line
from speechiq.reducer.tables.publish import Publication, list_outputs, publish

SCHEMA = "speechiq-judge-check"
FORMATS = ("json", "csv")


@examples(
    "siq judge check runs -n 30 --output check.html",
    "siq judge check runs --scores human_scores.jsonl",
    "siq judge check runs --scores ana.jsonl --scores ben.jsonl --output check.json",
)
def check(
    runs: Runs,
    output: Annotated[
        list[Path] | None,
        output_option("File to write: the page, .html; with --scores the numbers, .json or .csv."),
    ] = None,
    count: Annotated[int, typer.Option("-n", min=1, help="Set the number of answers on the page.")] = 30,
    scores: Annotated[
        list[Path] | None,
        typer.Option(help="File that a person saved from the page; give it once per person. Prints the agreement."),
    ] = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
    bootstrap: Samples = DRAWS,
    seed: Seed = 0,
) -> None:
    """Check the judge of RUNS by scores of persons.

    Write a page to score answers on, or read the scores (--scores).
    """
    if not scores:
        page = _page_of(output, force)
        return _write_page(_read(runs, allow_mismatch), count, seed, page)
    outputs = list_outputs(output, FORMATS, force)
    tasks, settings, answers = _read(runs, allow_mismatch)
    given = read_human_scores(scores, {answer.id: answer for answer in answers}, settings, allow_mismatch)
    checked = compare(answers, given, settings, draws=bootstrap, seed=seed)
    rubrics = [rubric.record for rubric in checked]
    content = {"judge": settings.name, "judging": settings.sha256, "persons": list(given), "rubrics": rubrics}
    rows = [{"rubric": rubric["rubric"]} | group for rubric in rubrics for group in rubric["groups"]]
    grids = [grid for rubric in checked for grid in as_grids(rubric, settings)]
    publish(Publication(SCHEMA, grids, content, rows), outputs, runs, tasks)


class _Judged(NamedTuple):
    """The judged tasks of some runs, their judge, and all their answers."""

    tasks: list[TaskRun]
    settings: JudgeSettings
    answers: list[JudgedRow]


def _read(runs: list[Path], allow_mismatch: bool) -> _Judged:
    tasks, warnings = find_judged(runs, allow_mismatch)
    for warning in warnings:
        say(f"warning: {warning}")
    settings = read_settings(tasks)
    return _Judged(tasks, settings, [row for task in tasks for row in read_judged(task)[1]])


def _page_of(output: list[Path] | None, force: bool) -> Path:
    """Return the page to write, after checking that it can be written.

    Raises:
        SpeechIQError: Not one HTML file is named, or it exists or cannot be written.
    """
    match output:
        case [page] if page.suffix.lower() in (".html", ".htm"):
            check_output(page, force, OWN_FILE)
            return page
    named = " ".join(str(path) for path in output or []) or "nothing"
    raise SpeechIQError(
        f"--output {named}: name one page, such as check.html; numbers (.json, .csv) are written with --scores FILE, "
        "the file that is saved from the page"
    )


def _write_page(found: _Judged, count: int, seed: int, page: Path) -> None:
    from speechiq.reducer.report.page import describe_origin
    from speechiq.reducer.report.review import render_answers

    judge, answers = found.settings.name, found.answers
    judged = [answer for answer in answers if not math.isnan(answer.stored.points)]
    if len(judged) < FEWEST:
        raise SpeechIQError(
            f"judge {judge!r} scored {count_of(len(judged), 'answer')} of these runs; a check needs at least {FEWEST}: "
            "give more runs"
            + f", or judge the {len(answers) - len(judged)} unjudged again"
            * (len(judged) < len(answers))
        )
    chosen = choose(judged, count, seed)
    text = render_answers(chosen, found.settings, {"Judge": judge} | describe_origin(found.tasks, command_line()))
    write_whole(page, text.encode(errors="replace"), OWN_FILE)
    say(f"wrote {page}: {len(chosen)} of {len(judged)} judged answers; open it in a browser")
