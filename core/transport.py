"""HTTP calls that end: each has a deadline, its reply a largest size, and no redirect takes it to another server."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, NamedTuple, TypeVar

import httpx

from speechiq.core.passes import passes

LARGEST = 16 * 2**20
REDIRECTS = 5
KEEPS_METHOD = (307, 308)

Result = TypeVar("Result")


class Unusable(Exception):
    """A reply that is refused whatever it holds; the message is what the server did, for the error."""


class Reply(NamedTuple):
    """What a server replied.

    Attributes:
        status: of HTTP.
        headers: by lower-case name.
        body: as sent, at most `LARGEST` bytes.
    """

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body taken as JSON.

        Raises:
            ValueError: it is none, not UTF-8, or nested too deep.
        """
        try:
            return json.loads(self.body.decode())
        except UnicodeDecodeError:
            raise ValueError("not UTF-8") from None
        except RecursionError:
            raise ValueError("JSON that is nested too deep") from None
        except ValueError as error:
            kind = self.headers.get("content-type", "json").partition(";")[0]
            raise ValueError(error if "json" in kind else f"{kind} instead of JSON") from None


class Transport:
    """A pool of connections; threads may share it. Proxies are taken from the environment, as httpx does.

    Args:
        timeout: seconds for one call, from the connection to the last byte of the reply.
        headers: of all calls.
        verify: whether certificates are checked, or a file with those of the authorities.
    """

    def __init__(self, timeout: float, headers: dict[str, str] | None = None, verify: bool | str = True) -> None:
        self.timeout = timeout
        own = isinstance(verify, str)
        context = ssl.create_default_context(cafile=verify) if own else httpx.create_ssl_context(verify=verify)
        sent = {"Accept": "application/json", "Accept-Encoding": "identity", **(headers or {})}
        self._client = httpx.AsyncClient(headers=sent, timeout=None, verify=context, limits=httpx.Limits())

    async def send(self, method: str, url: str, timeout: float | None = None, **content: Any) -> Reply:
        """Return the reply to one request.

        Args:
            method: of HTTP.
            url: whole.
            timeout: instead of the pool's own, seconds.
            **content: `json`, `data`, `files`, `headers` of httpx.

        Raises:
            TimeoutError: there was no whole reply in time.
            httpx.TransportError: there was no connection, or it was lost.
            Unusable: the reply is too large, compressed, or a redirect to another server.
        """
        passes["calls"] += method == "POST"
        async with asyncio.timeout(timeout or self.timeout):
            request = self._client.build_request(method, url, **content)
            for _ in range(REDIRECTS):
                response = await self._client.send(request, stream=True)
                try:
                    if response.next_request is None:
                        return await _read(response)
                finally:
                    await response.aclose()
                request = _follow(response)
            raise Unusable(f"redirected {REDIRECTS} times")


async def _read(response: httpx.Response) -> Reply:
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        raise Unusable(f"sent a compressed reply ({encoding[:20]}), which it was asked not to do")
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > LARGEST:
            raise Unusable(f"sent a reply of more than {LARGEST // 2**20} MiB")
    return Reply(response.status_code, dict(response.headers), bytes(body))


def _follow(response: httpx.Response) -> httpx.Request:
    """Return the request that a redirect asks for, if the same server and method are meant."""
    here, there = response.request.url, response.next_request.url
    if (here.scheme, here.host, here.port) != (there.scheme, there.host, there.port):
        raise Unusable(f"redirects to another server, {there.scheme}://{there.netloc.decode()}")
    if response.status_code not in KEEPS_METHOD and response.request.method != "GET":
        raise Unusable(f"redirects by a {response.status_code}, which drops what was sent")
    return response.next_request


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
