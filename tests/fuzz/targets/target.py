"""One kind of input that a user or a server hands over: how valid input is made, and what is run on damaged input."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

#: Arguments of `siq`.
Command = list[Any]


class Target(NamedTuple):
    """One kind of input.

    Attributes:
        prepare: (folder) -> the files that may be damaged, all valid.
        run: (folder, random source) -> what is wrong with how the command behaved, or None.
        cases: Cases that take some seconds; `make test` runs a share of them, `make fuzz` all and more.
        refuses: Whether valid files may be refused too, because `run` adds hostile values of its own.
    """

    prepare: Callable[[Path], list[Path]]
    run: Callable[[Path, random.Random], str | None]
    cases: int
    refuses: bool = False
