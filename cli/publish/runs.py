"""Define `siq publish runs`: write the results of systems in a form that others can check."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import Runs, output_option, say_warnings
from speechiq.cli.scoring.options import NormsFile, read_norms
from speechiq.core.console import count_of, say
from speechiq.core.files.plain import OWN_FILE, check_output_folder
from speechiq.reducer.publishing import declarations, folder
from speechiq.reducer.publishing.record import draft
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.scoring import ScoringOptions


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
        typer.Option(help="File of what you declare of the systems, as `siq publish init` writes it."),
    ] = None,
    texts: Annotated[
        bool,
        typer.Option(
            "--texts", help="Publish references, questions, transcripts and answers too, if you have the right to."
        ),
    ] = False,
) -> None:
    """Write the results of systems in a form that others can check.

    Each system is scored alone. SIQ is published on frozen norms alone. The same runs give the same files.
    """
    check_output_folder(output, OWN_FILE)
    folder.refuse_other_content(output)
    norms = read_norms(norms_file, None)
    found = suites.find(runs, False, ScoringOptions(norms=norms))
    suites.refuse_options_of_siq(found, norms=norms_file)
    systems = sorted({task.system for tasks in found.tasks.values() for task in tasks})
    declared = declarations.read(declare, systems) if declare else {}
    say_warnings(found.warnings)
    drafts = list(draft(found, norms, declared, texts=texts))
    if norms is not None:
        folder.write_norms(norms, output)
    for written in folder.write(drafts, output):
        say(f"wrote {written}")
    missing = Counter(" and ".join(declarations.find_missing(each.result.declaration)) for each in drafts)
    for fields in filter(None, missing):
        say_warnings(
            [f"{fields} not declared for {count_of(missing[fields], 'system')}: a registry needs it, see --declare"]
        )
