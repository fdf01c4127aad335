"""Define `siq publish`: results in a form that others can check, their site, and frozen norms."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import Force, Runs, output_option, say_warnings
from speechiq.cli.scoring import NormsFile, choose_scale
from speechiq.core.console import count_of, say, say_error
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import OWN_FILE, check_output, check_output_folder, exists
from speechiq.reducer.output.publish import list_outputs, publish
from speechiq.reducer.output.published import folder as results_folder
from speechiq.reducer.output.published import site as results_site
from speechiq.reducer.output.published.check import check_record
from speechiq.reducer.output.published.record import draft
from speechiq.reducer.output.published.registry import check_results_folder
from speechiq.reducer.scores import norms as norms_files
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.suites import ScoringOptions
from speechiq.reducer.studies.result import StudyResult

Results = Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder of `siq publish runs`.")]


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
    results_folder.refuse_other_content(output)
    _, norms = choose_scale(norms_file, None, None)
    found = suites.find_suites(runs, False, ScoringOptions(norms=norms))
    suites.refuse_options_of_siq(found, norms=norms_file)
    systems = sorted({task.system for tasks in found.tasks.values() for task in tasks})
    declared = results_folder.read_declarations(declare, output, systems)
    say_warnings(found.warnings)
    drafts = list(draft(found, norms, declared, texts=texts))
    for drafted in drafts:
        check_record(drafted.result)
    if norms is not None:
        results_folder.write_norms(norms, output)
    for written in results_folder.write_results(drafts, output):
        say(f"wrote {written}")


@examples("siq publish check results", "siq publish check results --output check.json")
def check_all(
    results: Results,
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
    registry = check_results_folder(results)
    rows = [row for grid in registry.grids for row in grid.records()]
    content = {"results": rows, "refused": registry.faults}
    publish(StudyResult("speechiq-check", registry.grids, content, rows), outputs, [results])
    for fault in registry.faults:
        say_error(f"refused: {fault}")
    if registry.faults:
        raise typer.Exit(1)


@examples("siq publish site results --output site")
def site(
    results: Results,
    output: Annotated[Path, output_option("Folder of the site; made if needed.")],
    force: Force = False,
) -> None:
    """Show published results as a static site.

    It has leaderboards, a page per system, comparisons and clips, opens from a file and from any static host, and
    loads nothing from elsewhere. Results are checked first; if one is refused, nothing is written.
    """
    results_site.refuse_other_site(output, force=force)
    check_output_folder(output, OWN_FILE)
    files = results_site.build_site(results)
    results_site.write_site(files, output)
    size = sum(len(content.encode(errors="backslashreplace")) for content in files.values()) / 1e6
    say(f"wrote {count_of(len(files), 'file')} into {output} ({size:.1f} MB): open {output / 'index.html'}")


@examples("siq publish init board")
def init(
    folder: Annotated[Path, typer.Argument(help="Folder of the repository; made if needed.")],
) -> None:
    """Write the files of a repository of results, such as its checks.

    A workflow for GitHub checks every submission; `declaration.yaml` and `SUBMIT.md` are for those who submit.
    """
    for written in results_folder.write_repository(folder):
        say(f"wrote {written}")


@examples(
    "siq publish norms population.json --output reference@1.json",
    "siq publish norms small.json --output mine@1.json --example",
)
def publish_norms(
    draft: Annotated[str, typer.Argument(metavar="NORMS", help="Norms of `siq score --save-norms`.")],
    output: Annotated[
        Path, output_option("File to write, NAME@1.json: its name becomes that of the norms. It is never replaced.")
    ],
    example: Annotated[
        bool,
        typer.Option(
            "--example", help="Say that the norms are an example; else they need a population of ten systems."
        ),
    ] = False,
) -> None:
    """Freeze norms under a name and an edition.

    Results are published on frozen norms alone, so that a further system moves no score. Another population is another
    edition.
    """
    if exists(output):
        raise SpeechIQError(output, "exists, and frozen norms are never replaced", "give the next edition")
    check_output(output, force=False, advice=OWN_FILE)
    frozen = norms_files.freeze_norms(norms_files.read_norms(draft), output.name.removesuffix(".json"), example=example)
    norms_files.write_norms(frozen, output)
    say(f"wrote {output}: norms {frozen.title} of {count_of(len(frozen.population), 'system')}")
