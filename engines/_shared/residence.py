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
        if self._stay is not None:
            yield
            return
        with ExitStack() as self._stay:
            try:
                yield
            finally:
                self._stay, self._is_loaded = None, False

    @contextmanager
    def loaded(self) -> Iterator[None]:
        """Load the model, unless it is in memory already, and free it as the outermost block ends."""
        with self.staying():
            if not self._is_loaded:
                self._stay.enter_context(self._in_memory())
                self._is_loaded = True
            yield
