"""Define `siq publish check`: compute every published score again."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import Force, output_option
from speechiq.core.console import say_error
from speechiq.reducer.publishing.registry import check_folder
from speechiq.reducer.tables.publish import Publication, list_outputs, publish


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
