"""Define `siq publish norms`: freeze norms under a name and an edition."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import output_option
from speechiq.core.console import count_of, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import check_output, exists
from speechiq.reducer.scores.norms import freeze, read, write
from speechiq.reducer.scores.norms.file import ADVICE_FILE


@examples(
    "siq publish norms population.json --output reference@1.json",
    "siq publish norms small.json --output mine@1.json --example",
)
def norms(
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
        raise SpeechIQError(f"{str(output)!r} exists", "frozen norms are never replaced", "give the next edition")
    check_output(output, force=False, advice=ADVICE_FILE)
    frozen = freeze(read(draft), output.name.removesuffix(".json"), example=example)
    write(frozen, output)
    say(f"wrote {output}: norms {frozen.title} of {count_of(len(frozen.population), 'system')}")
