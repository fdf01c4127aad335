"""Locate the cache folder, for everything fetched or computed: `SIQ_CACHE`, or the platform's default."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_dir


def cache_dir(*parts: str) -> Path:
    """Return the cache folder, or a path below it; nothing is created.

    >>> cache_dir("models", "a").relative_to(cache_dir()).as_posix()
    'models/a'
    """
    return Path(os.environ.get("SIQ_CACHE") or user_cache_dir("speechiq")).joinpath(*parts)


@contextmanager
def working_folder() -> Iterator[str]:
    """Make a temporary folder in the cache folder; it is removed when the block ends."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_dir(), prefix=".work-") as folder:
        yield folder
