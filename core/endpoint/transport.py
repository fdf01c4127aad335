"""Open the HTTP client below the openai package; it refuses endless and compressed replies, and other servers."""

from codecs import BOM_UTF8
from collections.abc import AsyncIterator

import httpx2

from speechiq.core.endpoint.replies import Unusable

LARGEST = 16 * 2**20
REDIRECTS = 5
KEEPS_METHOD = (307, 308)


def open_transport() -> httpx2.AsyncClient:
    """Return a pool of connections for the openai package; proxies and certificates come from the environment.

    It does not limit the time of a call: only the caller can limit that of all redirects together. A proxy or
    certificates that cannot be used are an `OSError` or `ValueError`.
    """
    return httpx2.AsyncClient(
        headers={"Accept-Encoding": "identity"},
        timeout=None,
        limits=httpx2.Limits(),
        follow_redirects=True,
        event_hooks={"response": [_check]},
    )


async def _check(response: httpx2.Response) -> None:
    """Raise `Unusable` for a compressed reply or a redirect that is not followed, later for one that is too large."""
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        raise Unusable(f"sent a compressed reply ({encoding[:20]}), although the request excluded that")
    if response.has_redirect_location:
        _check_redirect(response)
    response.stream = _Bounded(response)


def _check_redirect(response: httpx2.Response) -> None:
    request = response.request
    here = request.url
    try:
        there = here.join(response.headers["Location"])
    except httpx2.InvalidURL as error:
        raise Unusable(f"redirects to an invalid address ({error})") from None
    if (here.scheme, here.host, here.port) != (there.scheme, there.host, there.port):
        raise Unusable(f"redirects to another server, {there.scheme}://{there.netloc.decode()}")
    if response.status_code not in KEEPS_METHOD and request.method != "GET":
        raise Unusable(f"redirects by a {response.status_code}, which drops the request's content")
    # The next request of the same call begins with these extensions.
    request.extensions["redirects"] = request.extensions.get("redirects", 0) + 1
    if request.extensions["redirects"] == REDIRECTS:
        raise Unusable(f"redirected {REDIRECTS} times")


class _Bounded(httpx2.AsyncByteStream):
    """Pass on the bytes of a reply, at most `LARGEST`, without a byte order mark, behind which events would be lost."""

    def __init__(self, response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream = response.stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        # The first bytes, as long as they may be those of the mark.
        start: bytes | None = b""
        async for chunk in self._stream:
            size += len(chunk)
            if size > LARGEST:
                raise Unusable(f"sent a reply of more than {LARGEST // 2**20} MiB")
            if start is not None:
                start += chunk
                if BOM_UTF8.startswith(start):
                    continue
                chunk, start = start.removeprefix(BOM_UTF8), None
            yield chunk
        if start:
            yield start.removeprefix(BOM_UTF8)

    async def aclose(self) -> None:
        await self._stream.aclose()
