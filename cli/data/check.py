"""Define `siq data check`: check a question file, or the sources of data sets."""

from pathlib import Path
from typing import Annotated, Any

import typer

from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.data.questions import list_clips
from speechiq.cli.options import Metadata, complete_tasks, read_values
from speechiq.core.console import say_error, show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import exists, is_folder


@examples("siq data check calls/questions.jsonl --dataset calls", "siq data check audiobench")
def check(
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

    references = {clip["id"]: clip["text"] for clip in list_clips(dataset, metadata)} if dataset else None
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
