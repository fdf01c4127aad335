"""Decide how long something stays in memory, such as a model: for one call, or for all calls inside a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager


class Residence:
    """Decides when a model is loaded and freed.

    Args:
        in_memory: returns a block that loads the model as it begins and frees it as it ends.
    """

    def __init__(self, in_memory: Callable[[], AbstractContextManager]) -> None:
        self._in_memory = in_memory
        self._is_loaded = False
        self._stay: ExitStack | None = None

    @contextmanager
    def staying(self) -> Iterator[None]:
        """Keep what is loaded inside until the outermost such block ends; load nothing."""
        with self._open():
            yield

    @contextmanager
    def loaded(self) -> Iterator[None]:
        """Load the model, unless it is in memory already, and free it as the outermost block ends."""
        with self._open() as stay:
            if not self._is_loaded:
                stay.enter_context(self._in_memory())
                self._is_loaded = True
            yield

    @contextmanager
    def _open(self) -> Iterator[ExitStack]:
        """Yield what frees the model as the outermost block ends."""
        if self._stay is not None:
            yield self._stay
            return
        with ExitStack() as stay:
            self._stay = stay
            try:
                yield stay
            finally:
                self._stay, self._is_loaded = None, False
