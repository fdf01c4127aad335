"""Where speechiq keeps what it fetched or computed: one folder, `SIQ_CACHE` or the platform's own."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_dir


def cache_dir(*parts: str) -> Path:
    """The cache folder, or a place below it. Nothing is created.

    >>> import os; os.environ["SIQ_CACHE"] = "/data/siq"
    >>> cache_dir("models").as_posix()
    '/data/siq/models'
    >>> del os.environ["SIQ_CACHE"]
    """
    return Path(os.environ.get("SIQ_CACHE") or user_cache_dir("speechiq")).joinpath(*parts)
