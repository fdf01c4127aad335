"""Define `siq publish export`: write published results in the forms of other tools."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import output_option
from speechiq.core.console import count_of, say
from speechiq.core.files.plain import OWN_FILE, check_output_folder
from speechiq.reducer.publishing.exports.formats import FORMATS, check_format
from speechiq.reducer.publishing.exports.formats import export as write
from speechiq.reducer.publishing.folder import read_folder


@examples(
    "siq publish export results --format every-eval-ever --output eee",
    "siq publish export results --format eval-results --benchmark owner/speechiq --output hub",
)
def export(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder of `siq publish runs`, or one result.")],
    format: Annotated[
        str, typer.Option(help="; ".join(f"{name}: {meaning}" for name, meaning in FORMATS.items()) + ".")
    ],
    output: Annotated[Path, output_option("Folder to write into; files in it are never replaced.")],
    benchmark: Annotated[
        str | None, typer.Option(help="Data set on the Hub that has the benchmark, OWNER/NAME, for the Hub's formats.")
    ] = None,
) -> None:
    """Write published results in the forms of other tools.

    Withdrawn scores are left out.
    """
    check_format(format, benchmark)
    check_output_folder(output, OWN_FILE)
    written = list(write(read_folder(results), format, output, benchmark))
    say(f"wrote {count_of(len(written), 'file')} into {output}")
