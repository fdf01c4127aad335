"""Run coroutines of several threads in one event loop that does not delay Ctrl-C."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of a coroutine that one thread runs for all; Ctrl-C while waiting cancels it."""
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop())
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise KeyboardInterrupt("stopped by hand while waiting for a server") from None


_starting = threading.Lock()


def _loop() -> asyncio.AbstractEventLoop:
    with _starting:
        return _start()


@cache
def _start() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="endpoints").start()
    return loop
