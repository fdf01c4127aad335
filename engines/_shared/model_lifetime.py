"""Decide how long a model stays in memory: for one call, or for all calls inside a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from typing import Generic, TypeVar

Loaded = TypeVar("Loaded")


class ModelLifetime(Generic[Loaded]):
    """Load and free a model.

    Args:
        in_memory: returns a block that loads the model when it begins, yields it, and frees it when it ends.
    """

    def __init__(self, in_memory: Callable[[], AbstractContextManager[Loaded]]) -> None:
        self._in_memory = in_memory
        self._load: Callable[[], Loaded] | None = None

    @contextmanager
    def keep_loaded(self) -> Iterator[None]:
        """Keep a model that is loaded inside in memory until the outermost such block ends; load nothing."""
        with self._open():
            yield

    @contextmanager
    def loaded(self) -> Iterator[Loaded]:
        """Load the model, unless it is in memory, yield it, and free it when the outermost block ends."""
        with self._open() as load:
            yield load()

    @contextmanager
    def _open(self) -> Iterator[Callable[[], Loaded]]:
        """Yield a function that returns the model and loads it if necessary; the outermost block frees it."""
        if self._load is not None:
            yield self._load
            return
        with ExitStack() as stack:
            load = self._load = cache(lambda: stack.enter_context(self._in_memory()))
            try:
                yield load
            finally:
                self._load = None
