"""Define `siq publish runs`, `check`, `export` and `init`: results in a form that others can check."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import Force, Runs, output_option, say_warnings
from speechiq.cli.scoring.options import NormsFile, read_norms
from speechiq.core.console import count_of, say, say_error
from speechiq.core.files.plain import OWN_FILE, check_output_folder
from speechiq.reducer.publishing import declarations, folder
from speechiq.reducer.publishing.exports import formats
from speechiq.reducer.publishing.record import draft
from speechiq.reducer.publishing.registry import check_folder, read_sound
from speechiq.reducer.publishing.repository import write_repository
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.scoring import ScoringOptions
from speechiq.reducer.tables.publish import Publication, list_outputs, publish


@examples(
    "siq publish runs runs/demo --norms demo --output results",
    "siq publish runs runs/demo --norms demo --output results --declare declaration.yaml --texts",
)
def runs(
    runs: Runs,
    output: Annotated[Path, output_option("Folder of results; it gets a folder per system and date.")],
    norms_file: NormsFile = None,
    declare: Annotated[
        Path | None,
        typer.Option(
            help="File of what you declare of the systems; by default declaration.yaml beside the output folder, which "
            "is written if there is none, for you to fill in."
        ),
    ] = None,
    texts: Annotated[
        bool,
        typer.Option(
            "--texts", help="Publish references, questions, transcripts and answers too, if you have the right to."
        ),
    ] = False,
) -> None:
    """Write the results of systems in a form that others can check.

    Each system is scored alone. SIQ is published on frozen norms alone. The same runs give the same files; with a
    changed declaration, only the declaration of the results is changed.
    """
    check_output_folder(output, OWN_FILE)
    folder.refuse_other_content(output)
    norms = read_norms(norms_file, None)
    found = suites.find(runs, False, ScoringOptions(norms=norms))
    suites.refuse_options_of_siq(found, norms=norms_file)
    systems = sorted({task.system for tasks in found.tasks.values() for task in tasks})
    declared = declarations.read_complete(declare, output.parent, systems)
    say_warnings(found.warnings)
    drafts = list(draft(found, norms, declared, texts=texts))
    if norms is not None:
        folder.write_norms(norms, output)
    for written in folder.write(drafts, output):
        say(f"wrote {written}")


@examples("siq publish check results", "siq publish check results --output check.json")
def check(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder of `siq publish runs`.")],
    output: Annotated[
        list[Path] | None, output_option("File to write: the table as .json, .csv or .md. Give it once per file.")
    ] = None,
    force: Force = False,
) -> None:
    """Check published results: compute every score again from its rows.

    Digests, versions, counts, ranges, missing items, copied rows and declarations are checked too. The exit code is 1
    if a result is refused.
    """
    outputs = list_outputs(output, ("json", "csv", "markdown"), force)
    registry = check_folder(results)
    rows = [row for grid in registry.grids for row in grid.records()]
    content = {"results": rows, "refused": registry.faults}
    publish(Publication("speechiq-check", registry.grids, content, rows), outputs, [results])
    for fault in registry.faults:
        say_error(f"refused: {fault}")
    if registry.faults:
        raise typer.Exit(1)


@examples(
    "siq publish export results --format every-eval-ever --output eee",
    "siq publish export results --format eval-results --benchmark owner/speechiq --output hub",
)
def export(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder of `siq publish runs`.")],
    format: Annotated[
        str, typer.Option(help="; ".join(f"{name}: {meaning}" for name, meaning in formats.FORMATS.items()) + ".")
    ],
    output: Annotated[Path, output_option("Folder to write into; files in it are never replaced.")],
    benchmark: Annotated[
        str | None, typer.Option(help="Data set on the Hub that has the benchmark, OWNER/NAME, for the Hub's formats.")
    ] = None,
) -> None:
    """Write published results in the forms of other tools.

    Results are checked first; if one is refused, nothing is written. Withdrawn scores are left out.
    """
    formats.check_format(format, benchmark)
    check_output_folder(output, OWN_FILE)
    written = list(formats.export(read_sound(results).published, format, output, benchmark))
    say(f"wrote {count_of(len(written), 'file')} into {output}")


@examples("siq publish init board")
def init(
    folder: Annotated[Path, typer.Argument(help="Folder of the repository; made if needed.")],
) -> None:
    """Write the files of a repository of results, such as its checks.

    A workflow for GitHub checks every submission; `declaration.yaml` and `SUBMIT.md` are for those who submit.
    """
    for written in write_repository(folder):
        say(f"wrote {written}")
