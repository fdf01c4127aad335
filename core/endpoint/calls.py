"""Run calls of several threads in one event loop, and decide which failed ones are tried again, and when."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Coroutine
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import httpx2

Result = TypeVar("Result")
#: Seconds; the last one limits what a server may request.
SHORTEST_PAUSE, LONGEST_PAUSE, LONGEST_REQUESTED = 0.5, 8.0, 60.0
TEMPORARY = (408, 409, 429)


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


def is_temporary(reply: httpx2.Response) -> bool:
    """Return whether the same request may succeed later: by the server's own header, else by the HTTP status."""
    answer = reply.headers.get("x-should-retry")
    if answer in ("true", "false"):
        return answer == "true"
    return reply.status_code in TEMPORARY or reply.status_code >= 500


def find_pause(tries: int, reply: httpx2.Response | None) -> float:
    """Return the seconds to wait after some failed `tries`: as the last reply requests, else longer each time."""
    requested = _read_pause(reply) if reply is not None else 0.0
    if requested > 0:
        return min(requested, LONGEST_REQUESTED)
    # The random part spreads calls that failed at the same time.
    return min(SHORTEST_PAUSE * 2.0 ** (tries - 1), LONGEST_PAUSE) * random.uniform(0.75, 1)


def _read_pause(reply: httpx2.Response) -> float:
    """Return the seconds that the headers request; 0 if there are none that can be read."""
    value = reply.headers.get("retry-after", "")
    try:
        if "retry-after-ms" in reply.headers:
            return float(reply.headers["retry-after-ms"]) / 1000
        if value[:1].isalpha():
            return (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
        return float(value)
    except (ValueError, TypeError):
        return 0.0
