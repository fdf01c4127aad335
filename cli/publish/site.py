"""Define `siq publish site`: show published results as a static site."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import Force, output_option
from speechiq.core.console import count_of, say
from speechiq.core.files.plain import OWN_FILE, check_output_folder
from speechiq.reducer.publishing.site.build import build, refuse_other_content, write


@examples("siq publish site results --output site")
def site(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder of `siq publish runs`.")],
    output: Annotated[Path, output_option("Folder of the site; made if needed.")],
    force: Force = False,
) -> None:
    """Show published results as a static site.

    It has leaderboards, a page per system, comparisons and clips, opens from a file and from any static host, and
    loads nothing from elsewhere. Results are checked first; if one is refused, nothing is written.
    """
    refuse_other_content(output, force=force)
    check_output_folder(output, OWN_FILE)
    files = build(results)
    write(files, output)
    size = sum(len(content.encode(errors="backslashreplace")) for content in files.values()) / 1e6
    say(f"wrote {count_of(len(files), 'file')} into {output} ({size:.1f} MB): open {output / 'index.html'}")
