"""Choose the folder of the response cache: `SIQ_STORE`, `store=` of a run, or a folder in the cache folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from speechiq.core.cache.folder import cache_dir
from speechiq.core.files.plain import expand

VARIABLE = "SIQ_STORE"
OFF = "off"

_chosen: ContextVar[str | None] = ContextVar("store", default=None)


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
    return None if place == OFF else expand(place) if place else cache_dir("responses")
