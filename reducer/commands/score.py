"""Define `siq score`: the ranking of the systems found in folders of runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import check_output, check_output_folder, refuse_same, write_whole
from speechiq.reducer import dashboards, markup, norms, records, siq, table, unanswerable
from speechiq.reducer.by_dataset import MACRO, macro_average, macro_caption, rank_by_dataset
from speechiq.reducer.levels import LEVELS, Level, choose
from speechiq.reducer.norms import Norms
from speechiq.reducer.origin import origin
from speechiq.reducer.ranking import rank
from speechiq.reducer.runs import System, read_systems
from speechiq.reducer.unanswerable import ConfirmedSet

WIDTH_OF_A_PIPE = 240
MOST_DRAWS = 1_000_000
SCHEMA = "speechiq-scores"


def as_place(text: str) -> Path:
    """Return the path of some runs, or refuse an empty one, which `Path` takes for the current folder."""
    if not text:
        raise SpeechIQError("an empty path names no runs; is a variable unset? The current folder is '.'")
    return Path(text)


Runs = Annotated[
    list[Path],
    typer.Argument(
        help="Folders that lm_eval wrote to with --log_samples, or single results files.",
        parser=as_place,
        metavar="RUNS",
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        help=f"Rule of the level weights: {', '.join(siq.RULES)}, or three numbers for "
        f"Remember, Understand and Apply such as 0.04,0.75,0.21; {siq.DEFAULT_RULE} (the paper's eq. 6) by default."
    ),
]
NormsFile = Annotated[
    str | None,
    typer.Option("--norms", help="Score on the scale of norms: a file of `siq norms build`, or the name demo."),
]
AllowMismatch = Annotated[
    bool, typer.Option("--allow-mismatch", help="Take what is shared where runs differ, and mark it.")
]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing", help="Leave runs out whose results file is missing or names no task.")
]
Exclude = Annotated[
    Path | None, typer.Option(help="Leave the questions of a set of `siq unanswerable confirm` out of Apply.")
]
Draws = Annotated[int, typer.Option(min=0, max=MOST_DRAWS, help="Draws for the intervals; 0 leaves them out.")]
Only = Annotated[
    str | None,
    typer.Option(
        "--levels", help=f"Score only some levels, of {','.join(LEVELS)}; without one of them there is no SIQ."
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        help="Score a level by another of its columns, LEVEL=COLUMN, once per level: "
        + "; ".join(f"{level}: {', '.join(of.measures)}" for level, of in LEVELS.items())
        + ".",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


def score(
    runs: Runs,
    weights: Weights = None,
    norms_file: NormsFile = None,
    allow_mismatch: AllowMismatch = False,
    allow_missing: AllowMissing = False,
    exclude: Exclude = None,
    measure: Measures = None,
    levels: Only = None,
    by_dataset: Annotated[
        bool, typer.Option("--by-dataset", help="Add a table for each data set, and the mean over data sets.")
    ] = False,
    bootstrap: Draws = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 0,
    json: Annotated[Path | None, typer.Option(help="Write the scores to this JSON file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the scores to this CSV file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the table to this Markdown file.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write the table to this LaTeX file.")] = None,
    harness_json: Annotated[
        Path | None, typer.Option(help="Write the scores as lm-eval's own results into this folder.")
    ] = None,
    force: Force = False,
) -> None:
    """Score all systems found in RUNS, against each other or on the scale of norms, and print the ranking."""
    refuse_same((json, csv, markdown, latex, harness_json))
    for path in filter(None, (json, csv, markdown, latex)):
        check_output(path, force, records.MEND)
    if harness_json is not None:
        check_output_folder(harness_json, dashboards.ADVICE)
    siq.check_rule(weights or siq.DEFAULT_RULE)
    frozen = read_norms(norms_file, weights)
    if frozen and by_dataset:
        raise SpeechIQError(
            f"--by-dataset and --norms {norms_file}: norms have one scale for all their data sets; leave one of the "
            "two out, or build norms of each data set and score each by itself"
        )
    excluded = read_set(exclude)
    options = {
        "rule": weights or siq.DEFAULT_RULE,
        "allow_mismatch": allow_mismatch,
        "draws": bootstrap,
        "seed": seed,
    }
    systems = read(runs, excluded, allow_missing, levels=read_levels(measure, levels, frozen))
    ranking = rank(systems, norms=frozen, **options)
    scores, context = ranking.scores, ranking.context._replace(excluded=len(excluded))
    for warning in context.remarks.warnings():
        say(f"warning: {warning}")
    sets = rank_by_dataset(context.systems, **options) if by_dataset else {}
    rows = {dataset: records.rows_of(of.scores, of.context) for dataset, of in sets.items()}
    tables = [table.as_table(scores, context)]
    tables += [table.as_table(of.scores, of.context, dataset) for dataset, of in sets.items()]
    if by_dataset:
        rows[MACRO] = macro_average(sets)
        tables.append(table.rows_as_table(rows[MACRO], context, MACRO, macro_caption(sets)))
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE)
    for shown in tables:
        table.print_table(console, shown)

    about = origin(SCHEMA, runs)
    parts = {
        "by_dataset": {dataset: records.as_json(of.scores, of.context) for dataset, of in sets.items()} or None,
        "macro_average": rows.get(MACRO),
    }
    common = {name: about[name] for name in ("speechiq", "date")}
    for path, text in (
        (json, lambda: records.as_text(records.as_json(scores, context) | parts | about)),
        (csv, lambda: records.as_csv(scores, context, rows, **common)),
        (markdown, lambda: "\n".join(map(markup.as_markdown, tables))),
        (latex, lambda: "\n".join(map(markup.as_latex, tables))),
    ):
        if path is not None:
            write_whole(path, text().encode(), records.MEND)
            say(f"wrote {path}")
    if harness_json is not None:
        dashboards.write_harness(ranking._replace(context=context), harness_json)
        say(f"wrote {harness_json}, a folder a system")


def read_norms(norms_file: str | None, weights: str | None) -> Norms | None:
    if norms_file is None:
        return None
    frozen = norms.read(norms_file)
    if weights is not None and weights != frozen.rule:
        raise SpeechIQError(
            f"--weights {weights} and --norms {norms_file}: these norms were built with {frozen.rule}; "
            "leave --weights out, or build norms with them"
        )
    return frozen


def read_set(exclude: Path | None) -> ConfirmedSet:
    return unanswerable.read(exclude) if exclude else unanswerable.NOTHING


def read_levels(measures: Sequence[str] | None, levels: str | None, norms: Norms | None = None) -> Mapping[str, Level]:
    """Return the levels to score: by the columns that were asked for, else by those of norms.

    Args:
        measures: `LEVEL=COLUMN` each, from `--measure`.
        levels: From `--levels`.
        norms: A level that `measures` does not name is scored as these score it.
    """
    chosen = choose(measures or (), levels)
    if norms is None:
        return chosen
    named = {measure.partition("=")[0].strip() for measure in measures or ()}
    return {level: of if level in named else of.measured_by(norms.levels[level].metric) for level, of in chosen.items()}


def read(
    runs: list[Path], excluded: ConfirmedSet, allow_missing: bool = False, *, levels: Mapping[str, Level] = LEVELS
) -> list[System]:
    """Read the systems without the questions of a set, and print the warnings about the runs."""
    systems, warnings = read_systems(runs, allow_missing, levels=levels)
    for warning in warnings:
        say(f"warning: {warning}")
    return unanswerable.leave_out(systems, excluded)
