"""Define `siq study predict` and `siq study labels`: which metric predicts failed tasks, and which tasks failed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.options import (
    EXPERT,
    AllowMismatch,
    Force,
    JudgeOptions,
    Runs,
    output_option,
    read_judge_options,
    say_warnings,
    split_names,
)
from speechiq.cli.scoring import Call, study
from speechiq.core.console import count_of, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import OWN_FILE, write_whole
from speechiq.reducer.output.publish import list_outputs
from speechiq.reducer.studies.agreement import compare_each_pair
from speechiq.reducer.studies.prediction.data import (
    BY,
    KeptItems,
    Tables,
    label_answers,
    leave_out_items,
    read_tables,
)
from speechiq.reducer.studies.prediction.labels import Label, label_judged, read_exchanges, refuse_alike, write_labels
from speechiq.reducer.studies.prediction.study import as_result, gather_runs, predict_failure, read_sources
from speechiq.reducer.studies.result import StudyResult

#: The rubric of the judge, unless another one is named.
RUBRIC = "same_task"
Only = Annotated[
    str | None,
    typer.Option(
        help="Keep only some items, with commas between the names: errors (the transcript has one), answerable "
        "(answered right from the reference; needs a run of the control gold with the same language model), "
        "has:METRIC or no:METRIC (the metric is defined, or not)."
    ),
]
#: Names of `--only` that take a metric.
OF_METRIC = ("has", "no")


def _read_only(only: str | None, known: Sequence[str] = KeptItems._fields) -> KeptItems:
    """Return the items that `--only` keeps; refuse a name that is unknown or given twice."""
    kept: dict[str, Any] = {}
    for name in split_names(only):
        choice, _, metric = name.partition(":")
        if choice not in known or choice in kept or bool(metric) != (choice in OF_METRIC):
            names = ", ".join(f"{each}:METRIC" if each in OF_METRIC else each for each in known)
            raise SpeechIQError(f"--only {only}", f"{name!r} is unknown or a duplicate", f"choose from {names}")
        kept[choice] = metric or True
    return KeptItems(**kept)


@study(
    "explain bootstrap",
    formats=("json", "csv", "page"),
    output="File to write: .json, .csv, or a page with ROC curves as .html.",
    examples=(
        "siq study predict runs",
        "siq study predict runs --labels labels.jsonl --metrics wer,llm_semdist_eowl --output predict.html",
        "siq study predict runs --labels labels.jsonl --combine 'llm_semdist_eowl + 0.1*entity_wer'",
    ),
)
def predict_failures(
    call: Call,
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            help="Success labels, a .jsonl file with id, system, success and by (`siq study labels`). Several times "
            "for several authors: the first is predicted, and the agreement of each pair is printed. Without it, "
            "an item fails if its question is answered wrong."
        ),
    ] = None,
    *,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Use other columns of the sample rows as predictors, with commas between them; by default all that "
            "the runs have."
        ),
    ] = None,
    only: Only = None,
    combine: Annotated[
        list[str] | None,
        typer.Option(
            help="Add a linear form of metrics, such as 'llm_semdist_eowl + 0.1*entity_wer'; repeatable.",
            rich_help_panel=EXPERT,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="Name the metric that others are compared with; by default wer.", rich_help_panel=EXPERT),
    ] = None,
) -> StudyResult:
    """Measure how well each metric predicts failed tasks.

    A task fails if the answer to the transcript is wrong, or by labels.
    """
    kept = _read_only(only)
    tables = _read(call.runs, call.allow_mismatch)
    sources = read_sources(labels or [], tables)
    chosen = None if metrics is None else split_names(metrics)
    units = gather_runs(tables, sources, metrics=chosen, kept=kept)
    prediction = predict_failure(units, combine=combine or (), against=against, draws=call.draws)
    raters = [(source.name, source.success) for source in sources]
    agreements = compare_each_pair(raters, lambda key: key[1][0], tables.clusters, draws=call.draws)
    return as_result(prediction, tables.tasks, agreements)


@examples(
    "siq study labels runs --output labels.jsonl",
    "siq study labels runs --only errors,answerable --output labels.jsonl",
    "siq study labels runs --judge openai:gpt-4o --output judged.jsonl",
    "siq study labels runs --output review.html",
)
def labels(
    runs: Runs,
    output: Annotated[
        Path,
        output_option(
            "File to write: labels as .jsonl, or as .html a page on which a person compares the answers to transcripts "
            "with those to references and saves labels."
        ),
    ],
    judge: Annotated[
        str | None,
        typer.Option(
            help="Let a language model, ENGINE:MODEL, compare the answer to the transcript with that to the reference; "
            "by default the answer keys of the runs label."
        ),
    ] = None,
    judge_option: JudgeOptions = None,
    only: Only = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
) -> None:
    """Label each answer in RUNS as a success or a failure."""
    (file,) = list_outputs([output], ["labels", "page"], force)
    kept = _read_only(only, ("errors", "answerable"))
    for option, value in {"judge": judge, "only": only}.items():
        if value and file.format == "page":
            raise SpeechIQError(
                f"--output {output} and --{option}",
                "on the page a person labels all pairs of answers",
                f"leave --{option} out, or write labels into a .jsonl file",
            )
    judging = None
    if judge:
        from speechiq.metrics.judge.settings import read_judging

        judging = read_judging(read_judge_options(judge_option) | {"judge": judge}, default_rubric=RUBRIC)
    tables = _read(runs, allow_mismatch)
    if file.format == "page":
        return _write_page(tables, output)
    if judging:
        with stop_in_one_line("the same command continues from the response cache"):
            made = label_judged(read_exchanges(tables), judging, tables.clusters)
    else:
        made = label_answers(tables)
    made = leave_out_items(made, tables, kept)
    author = f"judge {judge}" if judge else BY
    refuse_alike(made.success.values(), author)
    rows = (Label(item[0], system, good, author, *item[1:]) for (system, item), good in sorted(made.success.items()))
    write_labels(rows, output)
    for note in made.notes:
        say(note)
    failed = sum(not success for success in made.success.values())
    say(f"wrote {output}: {count_of(failed, 'failure')} among {count_of(len(made.success), 'item')}")


def _read(runs: list[Path], allow_mismatch: bool) -> Tables:
    tables = read_tables(runs, allow_mismatch, allow_mismatch)
    say_warnings(tables.warnings)
    return tables


def _write_page(tables: Tables, page: Path) -> None:
    from speechiq.reducer.output.page.review import render_exchanges

    exchanges = read_exchanges(tables)
    write_whole(page, render_exchanges(exchanges).encode(errors="replace"), OWN_FILE)
    same = sum(exchange.same for exchange in exchanges)
    say(f"{same} of {len(exchanges)} items have equal answers: successes without a judgment")
    say(f"wrote {page}: open it, judge {count_of(len(exchanges) - same, 'item')}, and save labels.jsonl")
