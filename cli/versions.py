"""Read the versions of installed packages without importing them."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

#: The packages that decide scores.
SHOWN = ("speechiq", "lm-eval", "transformers", "torch")


def find_version(package: str) -> str | None:
    """Return the version of an installed package, or None if it is not installed.

    >>> find_version("no-such-package") is None
    True
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def list_versions() -> list[str]:
    """Return a line per package that `siq --version` prints, and one for Python."""
    lines = [f"{package} {find_version(package) or 'is not installed'}" for package in SHOWN]
    return [*lines, f"Python {platform.python_version()}"]
