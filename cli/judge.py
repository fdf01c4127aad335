"""Define `siq judge`: judge stored answers again, compare the judge with human scores, and compare two judges."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.options import (
    AllowMismatch,
    Force,
    JudgeOptions,
    Runs,
    Samples,
    choose_file,
    output_option,
    read_judge_options,
    read_path,
    say_warnings,
    split_names,
)
from speechiq.cli.scoring import Call, study
from speechiq.core.console import count_of, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import OWN_FILE, write_whole
from speechiq.core.files.tables import is_table
from speechiq.reducer.output.publish import command_line, list_outputs, publish
from speechiq.reducer.runs.human_scores import (
    StoredJudge,
    digest_settings,
    name_settings,
    read_human_scores,
    read_judge_settings,
)
from speechiq.reducer.runs.judged import JudgedRow, find_judged, find_transcripts, read_judged
from speechiq.reducer.runs.ratings import read_ratings
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.suites import ScoringOptions
from speechiq.reducer.studies.agreement import compare_judges
from speechiq.reducer.studies.judges.people import FEWEST, check_judge, choose_answers, compare_settings
from speechiq.reducer.studies.judges.rejudging import choose_targets, judges_meaning, plan_judging, rejudge, write_run
from speechiq.reducer.studies.judges.tables import compare_ratings, compare_tables
from speechiq.reducer.studies.result import StudyResult

FORMATS = ("json", "csv")


@examples(
    "siq judge run runs --judge openai:gpt-4o",
    "siq judge run runs --judge hf:Qwen/Qwen2.5-7B-Instruct --judge-option draws=3 --output runs-qwen",
    "siq judge run runs --judge hf:demo:SmolLM2-135M-Instruct --judge-option by=likelihood",
    "siq judge run runs --judge openai:judge --judge-option base_url=http://localhost:8000/v1",
    "siq judge run runs --judge openai:gpt-4o --judge-option rubric=meaning",
)
def judge_answers(
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

    With the rubric meaning, the transcripts of RUNS are judged: whether an error changes what was said.
    New results are written beside the old ones.
    """
    given = read_judge_options(judge_option) | {"judge": judge}
    find = find_transcripts if judges_meaning(given) else find_judged
    tasks, warnings = find(runs, allow_mismatch)
    say_warnings(warnings)
    with stop_in_one_line("the same command continues from the response cache"):
        plans = plan_judging(tasks, given)
        targets = choose_targets(plans, runs, output, force)
        done = rejudge(plans)
        new = 0
        for results, target in targets.items():
            new += write_run(target, [task for task in done if task.plan.task.results == results])
    systems = len({task.system for task in tasks})
    answers, unjudged = sum(task.answers for task in done), sum(task.unjudged for task in done)
    folders = " ".join(sorted({str(target.folder) for target in targets.values()}))
    same = f", {len(targets) - new} unchanged" if new < len(targets) else ""
    say(
        f"{count_of(answers, 'answer')} of {count_of(systems, 'system')} judged by {judge}, {unjudged} unjudged; "
        f"wrote {count_of(new, 'run')}{same}; next: siq score {folders}"
    )


@examples(
    "siq judge check runs -n 30 --output check.html",
    "siq judge check runs --scores human_scores.jsonl",
    "siq judge check runs --scores ana.jsonl --scores ben.jsonl --output check.json",
    "siq judge check runs runs-without-checklists --scores human_scores.jsonl",
    "siq judge check ratings.csv",
    "siq judge check ratings.csv --persons ana,ben,cem --output check.json",
)
def compare_judge(
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
    persons: Annotated[
        str | None,
        typer.Option(
            help="Columns of people's scores in a table, with commas between them; by default person, or person_1, "
            "person_2 and so on."
        ),
    ] = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
    bootstrap: Samples = DRAWS,
) -> None:
    """Compare the judge of RUNS with human scores.

    Write a page to score answers on, or read the scores (--scores). Several RUNS with the same answers, judged in
    several ways, are compared with the scores. In the place of RUNS, a table (.csv, .tsv, .jsonl)
    with the columns question, answer, judge and person (their scores) is enough.
    """
    if _is_table_of_user(runs[0]):
        outputs = list_outputs(output, FORMATS, force)
        ratings = read_ratings([*runs, *(scores or [])], split_names(persons))
        return publish(compare_ratings(ratings, bootstrap), outputs, runs)
    if persons is not None:
        fault = f"names columns of a table, which {str(runs[0])!r} is not"
        raise SpeechIQError(f"--persons {persons}", fault, "leave it out, or give a .csv, .tsv or .jsonl file")
    page, outputs = None, []
    if scores:
        outputs = list_outputs(output, FORMATS, force)
    else:
        numbers = "numbers (.json, .csv) are written with --scores FILE, the file that is saved from the page"
        page = choose_file(output, (".html", ".htm"), force, "name one page, such as check.html", numbers)
    if scores and len(judges := _find_judges(runs, allow_mismatch)) > 1:
        return publish(_compare_judges(judges, scores, bootstrap), outputs, runs)
    tasks, warnings = find_judged(runs, allow_mismatch)
    say_warnings(warnings)
    settings = read_judge_settings(tasks)
    answers = _read_answers(tasks)
    if page:
        return _write_page(answers, settings, count, page)
    by_person = read_human_scores(scores or [], {answer.id: answer for answer in answers}, settings, allow_mismatch)
    publish(check_judge(answers, by_person, settings, draws=bootstrap), outputs, runs)


def _find_judges(runs: list[Path], allow_mismatch: bool) -> dict[str, list[TaskRun]]:
    """Return judge in words -> the tasks that it judged, for runs of several judges; each of `runs` by itself."""
    by_settings: dict[str, list[TaskRun]] = {}
    for run in runs if len(runs) > 1 else []:
        for task in find_judged([run], allow_mismatch)[0]:
            by_settings.setdefault(digest_settings(task), []).append(task)
    judges: dict[str, list[TaskRun]] = {}
    for digest, tasks in by_settings.items():
        name = name_settings(tasks[0])
        judges[f"{name} ({digest})" if name in judges else name] = tasks
    return judges


def _read_answers(tasks: Iterable[TaskRun]) -> list[JudgedRow]:
    return [row for task in tasks for row in read_judged(task)[1]]


def _compare_judges(judges: dict[str, list[TaskRun]], scores: list[Path], draws: int) -> StudyResult:
    """Compare judges of the same answers by what persons gave the answers of the first one."""
    answers = {name: _read_answers(tasks) for name, tasks in judges.items()}
    settings = {name: read_judge_settings(tasks) for name, tasks in judges.items()}
    first, *_ = judges
    answers_of_first = {answer.id: answer for answer in answers[first]}
    by_person = read_human_scores(scores, answers_of_first, settings[first], allow_mismatch=True)
    return compare_settings(answers, by_person, settings, draws=draws)


def _is_table_of_user(path: Path) -> bool:
    """Return whether a path in the place of RUNS is a table; a results file of lm-eval is a `.json`."""
    return is_table(path) and path.suffix.lower() != ".json"


def _write_page(answers: list[JudgedRow], settings: StoredJudge, count: int, page: Path) -> None:
    from speechiq.reducer.output.page.page import describe_origin
    from speechiq.reducer.output.page.review import render_answers

    judged = [answer for answer in answers if not math.isnan(answer.stored.points)]
    if len(judged) < FEWEST:
        fix = f"a check needs at least {FEWEST}: give more runs"
        if unjudged := len(answers) - len(judged):
            fix += f", or judge the {unjudged} unjudged again"
        raise SpeechIQError(f"judge {settings.name!r} scored {count_of(len(judged), 'answer')} of these runs", fix=fix)
    chosen = choose_answers(judged, count, seed=0)
    text = render_answers(chosen, settings, {"Judge": settings.name} | describe_origin(settings.tasks, command_line()))
    write_whole(page, text.encode(errors="replace"), OWN_FILE)
    say(f"wrote {page}: {len(chosen)} of {len(judged)} judged answers; open it in a browser")


@study(
    "bootstrap",
    formats=FORMATS,
    output="File to write: the agreement as .json or .csv.",
    examples=(
        "siq judge agree runs runs-judged-by-gpt-4o",
        "siq judge agree runs/one-judge runs/other-judge --output agreement.json",
        "siq judge agree one-judge.csv other-judge.csv",
    ),
    takes_runs=False,
)
def agree(
    call: Call,
    runs_a: Annotated[
        Path, typer.Argument(metavar="RUNS_A", parser=read_path, help="Folder or results file judged by judge A.")
    ],
    runs_b: Annotated[
        Path,
        typer.Argument(
            metavar="RUNS_B", parser=read_path, help="The same answers, judged by judge B (`siq judge run`)."
        ),
    ],
) -> StudyResult:
    """Measure how far two judges of the same answers agree.

    Weighted kappa, Krippendorff's alpha, rank correlation, and bias. In the place of RUNS_A and RUNS_B, two tables
    (.csv, .tsv, .jsonl) with the columns question, answer and judge are enough.
    """
    call.runs.extend([runs_a, runs_b])
    if any(map(_is_table_of_user, call.runs)):
        return compare_tables(call.runs, call.draws, call.allow_mismatch)
    suites_a, suites_b = (suites.find_suites([runs], call.allow_mismatch, ScoringOptions()) for runs in call.runs)
    say_warnings([*suites_a.warnings, *suites_b.warnings])
    return compare_judges(suites_a, suites_b, draws=call.draws, allow_mismatch=call.allow_mismatch)
