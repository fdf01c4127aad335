"""Show the doctests of docstrings as code: Markdown takes lines that begin with `>>>` for quotations."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_DOCTEST = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class Doctests(Extension):
    """Fence the doctests of every docstring."""

    def on_instance(self, *, obj: Object, **kwargs: Any) -> None:
        """Fence those of one object."""
        if obj.docstring and "```" not in obj.docstring.value:
            obj.docstring.value = fence(obj.docstring.value)


def fence(docstring: str) -> str:
    """Return the docstring with each doctest, up to the next empty line, in a fenced block.

    >>> fence("Add.")
    'Add.'
    """
    return _DOCTEST.sub(lambda found: f"```pycon\n{found[0]}\n```", docstring)
