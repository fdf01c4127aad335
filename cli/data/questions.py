"""Define `siq data questions`, `check`, `croissant` and `siq paper questions`: questions about clips."""

import json
import os
import re
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.options import (
    EXPERT,
    Force,
    Metadata,
    Seed,
    Yes,
    complete_tasks,
    output_option,
    read_values,
)
from speechiq.core.console import count_of, say, say_error, show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import (
    OWN_FILE,
    check_output,
    check_output_folder,
    exists,
    is_file,
    is_folder,
    refuse_to_overwrite,
    write_whole,
)


@examples(
    "siq data questions --dataset calls --template",
    "siq data questions --dataset medasr --writer openai:gpt-4o --checker openai:gpt-4o-mini --dry-run",
    "siq data questions --dataset calls --writer openai:gpt-4o --checker hf:Qwen/Qwen2-7B-Instruct --yes",
)
def write_by_models(
    dataset: Annotated[str, typer.Option(help="Data set of the suite, or a folder of `siq data new`.")],
    writer: Annotated[
        str | None,
        typer.Option(help="Author as ENGINE:MODEL, such as hf:NAME or openai:gpt-4o,base_url=URL,key_variable=NAME."),
    ] = None,
    checker: Annotated[
        list[str] | None,
        typer.Option(help="Model as ENGINE:MODEL that must answer every question right; give it once per model."),
    ] = None,
    template: Annotated[
        bool, typer.Option("--template", help="Write a CSV to fill in by hand instead, three rows per clip.")
    ] = False,
    output: Annotated[Path | None, output_option("File to write; by default the one that the tasks read.")] = None,
    force: Force = False,
    metadata: Metadata = None,
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the cost, and stop.")] = False,
    tries: Annotated[
        int,
        typer.Option(
            min=1, help="Set how often each checker answers; more than half must be right.", rich_help_panel=EXPERT
        ),
    ] = 3,
    rewrites: Annotated[
        int, typer.Option(min=0, help="Set how often a question that failed is written again.", rich_help_panel=EXPERT)
    ] = 3,
    workers: Annotated[
        int, typer.Option(min=1, help="Set how many clips are worked on at the same time.", rich_help_panel=EXPERT)
    ] = 8,
    seed: Seed = 0,
) -> None:
    """Write three questions per clip from its reference.

    A model writes them and others check them, or you write them into a CSV (--template). A partial file is completed,
    and a stopped run goes on.
    """
    if template:
        if writer or checker:
            raise SpeechIQError("--template", "the questions are written by hand", "leave --writer and --checker out")
        return _write_template(dataset, metadata, output, force)
    if writer is None or not checker:
        missing = "--writer" if writer is None else "--checker"
        raise SpeechIQError(missing, "missing", "name a model, or write the questions by hand with --template")
    from speechiq.siq_tasks.catalog.data_sets import place_questions
    from speechiq.siq_tasks.questions import file
    from speechiq.siq_tasks.questions import write as writing
    from speechiq.siq_tasks.questions.authors import StoredAnswers, parse_authors

    authors: dict[str, Any] = parse_authors([writer, *checker])
    clips = read_clips(dataset, metadata)
    if not dry_run:
        authors = {name: spec.open() for name, spec in authors.items()}
    plan = writing.WritingPlan(authors[writer], [authors[name] for name in checker], tries, rewrites, seed)
    output = output or place_questions(dataset)
    file.refuse_special(output)
    if is_file(written := file.by_hand(output)) and written != output:
        raise SpeechIQError(written, "has questions by hand, which take the place of others", "move or rename it")
    check_output_folder(output.parent, "name a file in a folder that is yours, with --output")
    todo = writing.list_unfinished(clips, file.read_questions(output) if output.is_file() else [])
    say(f"{len(todo)} of {len(clips)} clips have no or too few questions in {output}")
    say(str(writing.CostEstimate(todo, plan)))
    if (folder := writing.answers_of(output)).is_dir() and (paid := len(StoredAnswers(folder))):
        say(f"{count_of(paid, 'answer')} of an earlier run in {folder}: not paid again")
    if dry_run:
        return
    if not yes:
        typer.confirm("start?", abort=True, err=True)
    with stop_in_one_line():
        outcome = writing.write_missing(clips, plan, output, dataset, workers)
    left_out = sum("left_out" in row for row in outcome.rows)
    say(
        f"wrote {output}: {count_of(len(outcome.rows) - left_out, 'question')}, {left_out} left out; "
        f"{count_of(outcome.asked, 'request')}; right letters: {writing.show_letters(outcome.rows)}"
    )
    for reason, times in outcome.failures.most_common():
        say(f"failed attempts: {times} x {reason}")


def _write_template(dataset: str, metadata: list[str] | None, output: Path | None, force: bool) -> None:
    from speechiq.siq_tasks.catalog.data_sets import place_questions
    from speechiq.siq_tasks.questions import file

    place = place_questions(dataset)
    table = output or file.by_hand(place)
    if table.suffix.lower() != ".csv":
        raise SpeechIQError(f"--output {table}", "does not end with .csv", f"write {table.stem}.csv")
    if output is None and is_file(place):
        raise SpeechIQError(dataset, f"its questions are in {place}", "name another file with --output")
    refuse_to_overwrite(table, force)
    clips = read_clips(dataset, metadata)
    file.write_template(table, clips)
    named = shlex.quote(min(str(table), os.path.relpath(table), key=len))
    show(
        f"wrote {named}: {count_of(len(clips) * file.PER_CLIP, 'row')} for {count_of(len(clips), 'clip')}. Write a "
        "question, four options A to D, and the letter or the text of the right one into each. Then:",
        f"  siq data check {named} --dataset {shlex.quote(dataset)}",
    )


@examples(
    "siq data croissant questions.jsonl --license CC-BY-4.0 --url https://example.org/questions --output croissant.json"
)
def croissant(
    file: Annotated[Path, typer.Argument(help="Question file.")],
    license: Annotated[str, typer.Option(help="License of the questions, such as CC-BY-4.0.")],
    url: Annotated[str, typer.Option(help="Page of the data set.")],
    output: Annotated[Path, output_option("File to write: a .json beside the question file.")],
    force: Force = False,
) -> None:
    """Describe a question file in Croissant, for data set search.

    Croissant is JSON-LD that search engines and loaders of data sets read. The file belongs beside the questions.
    """
    from speechiq.siq_tasks.questions.check import describe_croissant
    from speechiq.siq_tasks.questions.file import read_questions

    if file.suffix.lower() != ".jsonl":
        raise SpeechIQError(file, "not JSON lines, whose fields Croissant describes", "publish the questions as .jsonl")
    if not re.match(r"https?://[^/\s]", url):
        raise SpeechIQError(f"--url {url}", "not an address", "give a page such as https://example.org/questions")
    if output.parent.resolve() != file.parent.resolve():
        fault = "not in the folder of the question file, to which it links by name"
        raise SpeechIQError(f"--output {output}", fault, f"write {file.parent / output.name}")
    check_output(output, force, OWN_FILE)
    content = describe_croissant(file, read_questions(file), license, url)
    write_whole(output, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode(), OWN_FILE)
    say(f"wrote {output}")


@examples(
    "siq paper questions earning22-gpt-4o-qa.json --dataset paper_earnings22",
    "siq paper questions voxpopuli-gpt-4o-qa.json --dataset paper_voxpopuli --near --output questions.jsonl",
)
def join_questions(
    file: Annotated[Path, typer.Argument(help="Released questions: a JSON list of objects with gold and qa.")],
    dataset: Annotated[str, typer.Option(help="Data set whose clips the questions are about.")],
    output: Annotated[Path | None, output_option("File to write; by default the one that the tasks read.")] = None,
    near: Annotated[
        bool, typer.Option("--near", help="Join near matches of references too.", rich_help_panel=EXPERT)
    ] = False,
    metadata: Metadata = None,
) -> None:
    """Join released questions to the clips of a data set.

    The released questions name no clips. Exit code 1 if fewer than 90 % of them are joined.
    """
    from speechiq.siq_tasks.questions import file as question_file
    from speechiq.siq_tasks.questions import released
    from speechiq.siq_tasks.questions.write import show_letters

    content = released.read_released(file)
    output = output or question_file.place_of(dataset)
    question_file.refuse_special(output)
    outcome = released.join_released(content, read_clips(dataset, metadata), take_near=near)
    show(*released.describe_import(outcome, near), f"right letters: {show_letters(outcome.rows)}")
    if not outcome.is_enough:
        raise SpeechIQError(
            file,
            f"{outcome.joined} of {outcome.entries} entries are about clips of {dataset}, fewer than "
            f"{released.ENOUGH:.0%}",
            "give the questions of this data set, or its source with --metadata",
        )
    question_file.write_questions(output, outcome.rows)
    say(f"wrote {output} from {file} (sha256 {content.sha256[:12]})")


def read_clips(dataset: str, metadata: list[str] | None) -> list[dict[str, Any]]:
    """Return the clips of a data set under the settings of `--metadata`."""
    from speechiq.siq_tasks.catalog.data_sets import list_clips

    settings = read_values("--metadata", metadata or ())
    if "dataset" in settings:
        raise SpeechIQError(
            f"--metadata dataset={settings['dataset']}",
            f"the clips are those of {dataset}",
            "name another data set in its place",
        )
    return list_clips(dataset, **settings)


@examples("siq data check calls/questions.jsonl --dataset calls", "siq data check audiobench")
def check_data(
    name: Annotated[
        str,
        typer.Argument(
            help="Question file; or task, group or data set whose source is checked.", autocompletion=complete_tasks
        ),
    ],
    dataset: Annotated[
        str | None, typer.Option(help="Check that the questions fit the clips of this data set.")
    ] = None,
    reader: Annotated[str | None, typer.Option(help="Let a model, ENGINE:MODEL, answer without the speech.")] = None,
    metadata: Metadata = None,
) -> None:
    """Check a question file, or whether the sources of data sets exist.

    Of a question file, schema, balance and duplicates are checked, and guesses without audio are scored; exit code 1
    if a question leaks. Of a data set on the Hub, version, configuration, split and columns are checked without a
    download of audio; exit code 1 if something is missing.
    """
    is_file = exists(Path(name)) and not is_folder(name)
    if is_file or name.endswith(".jsonl") or dataset or reader:
        return _check_questions(Path(name), dataset, reader, metadata)
    _check_sources(name, read_values("--metadata", metadata or ()))


def _check_questions(file: Path, dataset: str | None, reader: str | None, metadata: list[str] | None) -> None:
    from speechiq.siq_tasks.questions.authors import parse_author
    from speechiq.siq_tasks.questions.check import check_file, describe_report

    references = {clip["id"]: clip["text"] for clip in read_clips(dataset, metadata)} if dataset else None
    author = parse_author(reader).open() if reader else None
    with stop_in_one_line():
        report = check_file(file, references, author, dataset or "")
    show(*describe_report(report))
    if report.faults:
        raise typer.Exit(1)


def _check_sources(name: str, settings: dict[str, Any]) -> None:
    from speechiq.siq_tasks.catalog.sources import check_sources

    are_faults = []
    with stop_in_one_line():
        for dataset, outcome in check_sources(name, settings):
            are_faults.append(isinstance(outcome, SpeechIQError))
            (say_error if are_faults[-1] else show)(f"{dataset}: {outcome}")
    if len(are_faults) > 1:
        show(f"{are_faults.count(False)} of {len(are_faults)} data sets have what their tasks read")
    if any(are_faults):
        raise typer.Exit(1)
