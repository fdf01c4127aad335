"""Describe the origin of a file of results: version, date, runs and command."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from speechiq.core.console import printable

SCHEMA_VERSION = 1


def origin(schema: str, runs: Iterable[Path]) -> dict[str, Any]:
    """Return the keys that every JSON file of results has in addition to its results.

    Args:
        schema: Kind of content, such as `speechiq-scores`.
        runs: The folders or files that were read, as the user gave them.
    """
    return {
        "schema": schema,
        "schema_version": SCHEMA_VERSION,
        "speechiq": version("speechiq"),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "runs": [printable(str(run)) for run in runs],
        "command": command_line(),
    }


def command_line() -> str:
    """Return the `siq` command that runs, as a user would type it."""
    return printable(shlex.join(["siq", *sys.argv[1:]]))
