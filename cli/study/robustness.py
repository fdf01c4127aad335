"""Define `siq study robustness`: how scores change with the strength of noise and other conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Force, Runs, Samples, output_option, say_warnings, split_names
from speechiq.cli.scoring.options import Levels, Metrics, NormsFile, read_norms
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.scoring import Options
from speechiq.reducer.stats.grid import flatten
from speechiq.reducer.studies.robustness.study import as_content, list_points, study
from speechiq.reducer.tables import publish
from speechiq.reducer.tables.origin import command_line, origin
from speechiq.reducer.tables.robustness_table import as_tables, caption, describe
from speechiq.reducer.tables.terminal import open_console, print_unbroken

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
    bootstrap: Samples = DRAWS,
) -> None:
    """Show how scores change with a condition.

    RUNS have the same tasks with and without `--metadata condition=...`. Losses, slopes and the strength at which a
    system falls below another have 95 % intervals from bootstrap samples of the same clips.
    """
    outputs = publish.list_outputs(output, FORMATS, force)
    norms = read_norms(norms_file, None)
    options = Options(norms=norms, draws=bootstrap)
    found = suites.find(runs, allow_mismatch, options, measures=split_names(metrics), levels=levels)
    say_warnings(found.warnings)
    studies = study(found, bootstrap, 0, norms)
    console = open_console()
    for each in studies:
        for table in as_tables(each):
            console.print(table)
        for crossing in each.crossings:
            print_unbroken(console, describe(crossing))
        print_unbroken(console, caption(each), style="dim italic")
    tasks = [task for each in studies for task in found.tasks[each.suite]]
    about = origin(SCHEMA, runs, tasks)

    def page() -> str:
        from speechiq.reducer.report.provenance import made_of
        from speechiq.reducer.report.robustness import render

        return render(studies, made_of(tasks, command_line()))

    texts = {
        "json": lambda: publish.as_json({"suites": {each.suite: as_content(each) for each in studies}} | about),
        "csv": lambda: publish.as_csv([flatten(row) for each in studies for row in list_points(each)]),
        "page": page,
    }
    publish.write_outputs(outputs, lambda format: texts[format]())
