"""Write Markdown tables for generated pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def write_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""Return a Markdown table; vertical bars inside cells are escaped.

    >>> print(write_table(["name", "type"], [("wer", "float | NaN")]), end="")
    | name | type |
    |---|---|
    | wer | float \| NaN |
    """
    lines = [header, *rows]
    cells = [[" ".join(str(cell).split()).replace("|", r"\|") for cell in line] for line in lines]
    written = [f"| {' | '.join(line)} |\n" for line in cells]
    return "".join([written[0], f"|{'---|' * len(header)}\n", *written[1:]])


def code(text: str) -> str:
    """Return the text as code; nothing if it is empty."""
    return text and f"`{text}`"
