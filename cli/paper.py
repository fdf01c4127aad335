"""Define `siq paper correlate` and `siq paper references`, analyses of the SpeechIQ paper."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.options import say_warnings, split_names
from speechiq.cli.scoring.options import Call, study
from speechiq.reducer.output.publish import Publication
from speechiq.reducer.scores import scale as siq
from speechiq.reducer.scores.levels import choose_levels
from speechiq.reducer.scores.ranking import rank
from speechiq.reducer.scores.suites import read_systems
from speechiq.reducer.studies import correlated
from speechiq.reducer.studies.references import CLEANED, LEVEL, compare_references, count_learned, references_grid


@study(
    "metrics weights",
    formats=("json", "csv"),
    output="File to write: the coefficients as .json or .csv.",
    examples=(
        "siq paper correlate runs --ranks people.csv",
        "siq paper correlate runs --ranks people.csv --weights inverse-variance --output correlation.json",
    ),
)
def correlate(
    call: Call,
    ranks: Annotated[
        Path,
        typer.Option(
            help="Table (.csv, .tsv or .jsonl) with the column system and columns of ranks, 1 for the best; the first "
            "is correlated with SIQ, with each level and with the other columns."
        ),
    ],
) -> Publication:
    """Correlate SIQ and metrics with ranks by people.

    Each plain metric of the systems in RUNS is correlated as well (Table 3 of the paper).
    """
    siq.check_rule(call.weights or siq.DEFAULT_RULE)
    systems = read_systems(call.runs, call.allow_mismatch, levels=choose_levels(split_names(call.metrics), None))
    say_warnings(systems.warnings)
    columns = correlated.read_ranks(ranks, [system.name for system in systems])
    scoreboard = rank(systems, rule=call.weights or siq.DEFAULT_RULE, allow_mismatch=call.allow_mismatch)
    say_warnings([scoreboard.remarks.no_siq] if scoreboard.remarks.no_siq else [])
    first, of_people = next(iter(columns.items()))
    grid = correlated.correlation_grid(correlated.correlate_ranks(scoreboard, columns), first, len(of_people))
    content = {"ranks": first, "correlations": grid.rows}
    return Publication("speechiq-correlation", [grid], content)


@study(
    "metrics bootstrap",
    formats=("json",),
    output="File to write: the error rates as .json.",
    examples=("siq paper references runs/voxpopuli", "siq paper references runs/voxpopuli --output references.json"),
)
def references(
    call: Call,
    *,
    clean: Annotated[
        str | None,
        typer.Option(help="Systems that never saw the references; the others' rate of original errors minus theirs."),
    ] = None,
) -> Publication:
    """Compare error rates on original and cleaned references.

    RUNS have a set and its cleaned version, such as voxpopuli and voxpopuli_cleaned. Also counts how often a system
    writes the original's words where both differ, a sign that it learned the references.
    """
    levels = choose_levels(split_names(call.metrics), LEVEL)
    systems = read_systems(call.runs, call.allow_mismatch, levels=levels)
    say_warnings(systems.warnings)
    rates = compare_references(systems, call.draws)
    sets = {row["dataset"]: row["dataset"] + CLEANED for row in rates}
    learned = count_learned(systems, sets, LEVEL, split_names(clean), draws=call.draws)
    grid = references_grid(rates, levels[LEVEL].unit, learned)
    call.tasks.extend(task for system in systems for task in system.tasks)
    return Publication("speechiq-references", [grid], {"references": grid.rows})
