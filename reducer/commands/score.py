"""`siq score`: the ranking of the systems found in folders of runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import refuse_same, refuse_to_overwrite, write_whole
from speechiq.reducer import dashboards, markup, norms, siq, table, unanswerable
from speechiq.reducer.norms import Norms
from speechiq.reducer.ranking import rank
from speechiq.reducer.runs import System, read_systems
from speechiq.reducer.unanswerable import ConfirmedSet

WIDTH_OF_A_PIPE = 240


def as_place(text: str) -> Path:
    """The path of some runs; an empty one, which `Path` takes for the current folder, is refused."""
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
        f"Remember, Understand and Apply such as 0.04,0.75,0.21; {siq.DEFAULT_RULE} (the paper's eq. 6) unless told."
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
Draws = Annotated[int, typer.Option(min=0, help="Draws for the intervals; 0 leaves them out.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


def score(
    runs: Runs,
    weights: Weights = None,
    norms_file: NormsFile = None,
    allow_mismatch: AllowMismatch = False,
    allow_missing: AllowMissing = False,
    exclude: Exclude = None,
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
    for path in (json, csv, markdown, latex):
        if path is not None:
            refuse_to_overwrite(path, force)
    siq.check_rule(weights or siq.DEFAULT_RULE)
    frozen = read_norms(norms_file, weights)
    excluded = read_set(exclude)
    ranking = rank(
        read(runs, excluded, allow_missing),
        rule=weights or siq.DEFAULT_RULE,
        norms=frozen,
        allow_mismatch=allow_mismatch,
        draws=bootstrap,
        seed=seed,
    )
    scores, context = ranking.scores, ranking.context._replace(excluded=len(excluded))
    shown = table.as_table(scores, context)
    Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE).print(shown)
    for path, text in (
        (json, lambda: table.as_json_text(scores, context)),
        (csv, lambda: table.as_csv(scores, context)),
        (markdown, lambda: markup.as_markdown(shown)),
        (latex, lambda: markup.as_latex(shown)),
    ):
        if path is not None:
            write_whole(path, text().encode(), table.MEND)
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


def read(runs: list[Path], excluded: ConfirmedSet, allow_missing: bool = False) -> list[System]:
    """The systems without the questions of a set; what was chosen between runs is said."""
    systems, warnings = read_systems(runs, allow_missing)
    for warning in warnings:
        say(f"warning: {warning}")
    return unanswerable.leave_out(systems, excluded)
