"""Write the files that a command names, for commands whose results are not published as grids yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from speechiq.core.console import say
from speechiq.core.files.plain import OWN_FILE, write_whole
from speechiq.reducer.tables.publish import Output, list_outputs

__all__ = ["Output", "list_outputs", "write_outputs"]


def write_outputs(outputs: Iterable[Output], texts: Mapping[str, Callable[[], str]]) -> None:
    """Write files whole, and say so for each; half a surrogate pair in a name is written as its escape.

    Args:
        outputs: What `list_outputs` returned.
        texts: Format -> returns the text; only the formats of the files are made.
    """
    for file in outputs:
        write_whole(file.path, texts[file.format]().encode(errors="backslashreplace"), OWN_FILE)
        say(f"wrote {file.path}")
