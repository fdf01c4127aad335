"""Decide how long something stays in memory, such as a model: for one call, or for all calls inside a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from typing import Generic, TypeVar

Held = TypeVar("Held")


class Residence(Generic[Held]):
    """Decides when a model is loaded and freed.

    Args:
        in_memory: returns a block that loads the model as it begins, yields it, and frees it as it ends.
    """

    def __init__(self, in_memory: Callable[[], AbstractContextManager[Held]]) -> None:
        self._in_memory = in_memory
        self._load: Callable[[], Held] | None = None

    @contextmanager
    def staying(self) -> Iterator[None]:
        """Keep what is loaded inside until the outermost such block ends; load nothing."""
        with self._open():
            yield

    @contextmanager
    def loaded(self) -> Iterator[Held]:
        """Load the model, unless it is in memory already, and free it as the outermost block ends."""
        with self._open() as load:
            yield load()

    @contextmanager
    def _open(self) -> Iterator[Callable[[], Held]]:
        """Yield what loads the model if it is not in memory; the outermost block frees it."""
        if self._load is not None:
            yield self._load
            return
        with ExitStack() as stack:
            load = self._load = cache(lambda: stack.enter_context(self._in_memory()))
            try:
                yield load
            finally:
                self._load = None
