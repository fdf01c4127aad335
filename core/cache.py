"""Where speechiq keeps what it fetched or computed: one folder, `SIQ_CACHE` or the platform's own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_dir


def cache_dir(*parts: str) -> Path:
    """The cache folder, or a place below it. Nothing is created.

    >>> cache_dir("models", "a").relative_to(cache_dir()).as_posix()
    'models/a'
    """
    return Path(os.environ.get("SIQ_CACHE") or user_cache_dir("speechiq")).joinpath(*parts)


@contextmanager
def working_folder() -> Iterator[str]:
    """A folder beside what is kept, for what is not; gone when the block ends."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_dir(), prefix=".work-") as folder:
        yield folder
