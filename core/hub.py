"""Notice early that the model hub is not available."""

from __future__ import annotations

import logging
import socket
import time
from functools import cache
from urllib.parse import urlsplit
from urllib.request import getproxies

log = logging.getLogger(__name__)
#: Seconds before each attempt.
WAITS = (0.0, 1.0)


@cache
def notice_offline() -> bool:
    """Put huggingface_hub into its offline mode if the name of the hub cannot be resolved.

    In offline mode models in the hub's cache load at once, and others fail at once, without five retries. Behind a
    proxy, which resolves names itself, the mode stays as it is.

    Returns:
        Whether it is offline, set here or by `HF_HUB_OFFLINE`.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE or getproxies():
        return constants.HF_HUB_OFFLINE
    host = urlsplit(constants.ENDPOINT).hostname
    if not any(_resolves(host, wait) for wait in WAITS):
        log.warning("%s cannot be resolved: only models in the hub's cache on this machine are available", host)
        constants.HF_HUB_OFFLINE = True
    return constants.HF_HUB_OFFLINE


def _resolves(host: str | None, wait: float) -> bool:
    time.sleep(wait)
    try:
        return bool(socket.getaddrinfo(host, None))
    except socket.gaierror:
        return False
