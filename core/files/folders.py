"""Locate the cache folder (`SIQ_CACHE`, or the platform's default) and the response cache (`SIQ_STORE`) in it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from platformdirs import user_cache_dir

from speechiq.core.files.plain import expand

VARIABLE = "SIQ_STORE"
OFF = "off"

_chosen: ContextVar[str | None] = ContextVar("store", default=None)


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


@contextmanager
def use_store(place: str | Path | None) -> Iterator[None]:
    """Use `place`, a folder or `off`, as the response cache inside the block; None changes nothing."""
    token = _chosen.set(_chosen.get() if place is None else str(place))
    try:
        yield
    finally:
        _chosen.reset(token)


def store_folder() -> Path | None:
    """Return the response cache: by `use_store`, `SIQ_STORE`, or a folder in the cache folder; `None` if `off`."""
    place = _chosen.get() or os.environ.get(VARIABLE)
    if place == OFF:
        return None
    return expand(place) if place else cache_dir("responses")
