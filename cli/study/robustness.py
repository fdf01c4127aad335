"""Define `siq study robustness`: how scores change with the strength of noise and other conditions."""

from pathlib import Path
from typing import Annotated

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Explain, Force, Runs, Samples, output_option, say_warnings, split_names
from speechiq.cli.scoring.options import Levels, Metrics, NormsFile, read_norms
from speechiq.core.files.page import Page
from speechiq.reducer.output.publish import Publication, command_line, list_outputs, publish
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.suites import ScoringOptions
from speechiq.reducer.studies.robustness import (
    curve_grid,
    curve_records,
    group_curves,
    robustness_content,
    robustness_lines,
    study_robustness,
)

SCHEMA = "speechiq-robustness"
FORMATS = ("json", "csv", "page")


@examples(
    "siq study robustness runs",
    "siq study robustness runs --levels remember --output robustness.html --output robustness.csv",
    "siq study robustness runs --norms demo",
)
def robustness(
    runs: Runs,
    output: Annotated[
        list[Path] | None, output_option("File to write: curves as a page .html, or numbers as .json or .csv.")
    ] = None,
    norms_file: NormsFile = None,
    levels: Levels = None,
    metrics: Metrics = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
    explain: Explain = False,
    bootstrap: Samples = DRAWS,
) -> None:
    """Show how scores change with a condition.

    RUNS have the same tasks with and without `--metadata condition=...`. Losses, slopes and the strength at which a
    system falls below another have 95 % intervals from bootstrap samples of the same clips.
    """
    outputs = list_outputs(output, FORMATS, force)
    norms = read_norms(norms_file, None)
    options = ScoringOptions(norms=norms, draws=bootstrap)
    found = suites.find(runs, allow_mismatch, options, measures=split_names(metrics), levels=levels)
    say_warnings(found.warnings)
    studies = study_robustness(found, bootstrap, 0, norms)
    tasks = [task for each in studies for task in found.tasks[each.suite]]

    def page() -> Page:
        from speechiq.reducer.output.page.page import describe_origin
        from speechiq.reducer.output.page.studies import render_robustness

        return Page(render_robustness(studies, describe_origin(tasks, command_line())))

    publication = Publication(
        SCHEMA,
        [curve_grid(each, curves) for each in studies for curves in group_curves(each)],
        {"suites": {each.suite: robustness_content(each) for each in studies}},
        [row for each in studies for row in curve_records(each)],
        [line for each in studies for line in robustness_lines(each)],
        page,
    )
    publish(publication, outputs, runs, tasks, explain)
