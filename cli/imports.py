"""Define `siq import`: turn outputs that other programs wrote into runs."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import Force, output_option, say_warnings, split_names
from speechiq.core.console import count_of, show
from speechiq.core.files.plain import check_output_folder


def _complete_form(incomplete: str) -> list[str]:
    """Return the forms that begin like the given text."""
    from speechiq.reducer.imports.forms import FORMS

    return [name for name in FORMS if name.startswith(incomplete)]


@examples(
    "siq import table results.csv --output runs",
    "siq import table whisper.csv canary.csv --output runs --dataset calls --language de",
    "siq import table answers.jsonl --output runs --group-by gender,accent",
)
def import_runs(
    form: Annotated[
        str,
        typer.Argument(
            help="Form of the files, such as table; docs/how-to/outputs_of_others.md lists them.",
            autocompletion=_complete_form,
            metavar="FORM",
        ),
    ],
    paths: Annotated[list[Path], typer.Argument(help="Files or folders of outputs.", metavar="PATH")],
    output: Annotated[Path, output_option("Folder of runs; each system gets a folder in it.")] = Path("runs"),
    dataset: Annotated[
        str | None, typer.Option(help="Name of the data set; without it, that in the files, or of file or folder.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="Code of the language of the references, such as de; without it, English.")
    ] = None,
    normalizer: Annotated[
        str | None,
        typer.Option(
            help="Rules that write transcript and reference in one form, such as whisper; without it, by the language."
        ),
    ] = None,
    system: Annotated[
        str | None, typer.Option(help="Name of the system; without it, that in the files, or of the file.")
    ] = None,
    group_by: Annotated[
        str | None,
        typer.Option(help="Groups of clips to keep for siq score --group-by, with commas between them."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="Kind of the system: cascade, 'cascade with correction', 'end to end' or recognizer; unknown without."
        ),
    ] = None,
    highest_score: Annotated[
        float | None, typer.Option(help="Best score in a table, by which scores are divided; the lowest is 0.")
    ] = None,
    force: Force = False,
) -> None:
    """Turn outputs that other programs wrote into runs, and score them.

    The runs are those of any system: siq score, siq compare and siq publish take them.
    """
    from speechiq.reducer.imports.forms import choose_form
    from speechiq.reducer.imports.items import ImportSettings
    from speechiq.reducer.imports.runs import OWN_FOLDER, import_outputs

    settings = ImportSettings(
        choose_form(form, paths),
        paths,
        dataset,
        language,
        system,
        tuple(split_names(group_by)),
        highest_score,
        normalizer,
        kind,
    )
    check_output_folder(output, OWN_FOLDER)
    written = import_outputs(settings, output, force=force)
    say_warnings(written.warnings)
    counts = f"{count_of(len(written.systems), 'system')}, {count_of(written.clips, 'clip')}"
    left_out = f"{count_of(written.left_out, 'row')} left out" if written.left_out else "no row left out"
    show(f"wrote {output}: {counts}; {', '.join(written.levels)}; {left_out}", f"next: siq score {output}")
