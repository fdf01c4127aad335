"""Notice early that the model hub is not available."""

import logging
import sys
import time
from collections.abc import Callable
from functools import cache
from queue import Empty, Queue
from threading import Thread, Timer
from typing import TypeVar

from speechiq.core.console import say

Answer = TypeVar("Answer")
log = logging.getLogger(__name__)
#: Seconds before each attempt: one failed connection is not believed.
WAITS = (0.0, 1.0)
#: Seconds without an answer of the hub after which a line is printed, and after which the hub is not asked again.
NOTICE_S, LIMIT_S = 5.0, 15.0


@cache
def notice_offline() -> bool:
    """Return whether the hub is offline, by `HF_HUB_OFFLINE` or because it does not answer; then set the offline mode.

    In offline mode of huggingface_hub and datasets, what is in the hub's cache loads at once, and all else fails at
    once, without five retries.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return True
    if (fault := find_hub_fault(LIMIT_S)) is None:
        return False
    log.warning("%s: only models and data sets in the hub's cache on this machine are available", fault)
    constants.HF_HUB_OFFLINE = True
    if "datasets" in sys.modules:
        sys.modules["datasets"].config.HF_HUB_OFFLINE = True
    return True


def find_hub_fault(patience: float) -> str | None:
    """Return why the hub gives no answer at all within `patience` (s); None if it answers, even with an error.

    After `NOTICE_S` a line is printed that says what the program waits for.
    """
    import httpx2
    from huggingface_hub import constants, get_session

    def ask() -> str | None:
        fault = None
        for wait in WAITS:
            time.sleep(wait)
            try:
                get_session().head(constants.ENDPOINT, timeout=patience)
            except httpx2.TimeoutException:
                return late
            except httpx2.NetworkError as error:
                fault = f"the hub ({constants.ENDPOINT}) gives no connection ({error})"
            except httpx2.HTTPError:
                return None  # something answered, such as a proxy that wants a password
            else:
                return None
        return fault

    def notice() -> None:
        say(
            f"waiting for the hub ({constants.ENDPOINT}), {patience - NOTICE_S:g} s more; check the network, or set "
            "HF_HUB_OFFLINE=1 to use what is on this machine"
        )

    late: str | None = f"the hub ({constants.ENDPOINT}) does not answer within {patience:g} s"
    return within(patience, ask, late, notice)


def within(
    patience: float, ask: Callable[[], Answer], late: Answer, notice: Callable[[], None] | None = None
) -> Answer:
    """Return the answer, or `late` if it takes longer than `patience` (s); call `notice` after `NOTICE_S` without it.

    A daemon thread does not delay the end of the program, as a pool of threads would.
    """
    answers: Queue[Answer] = Queue()
    Thread(target=lambda: answers.put(ask()), daemon=True).start()
    timer = Timer(NOTICE_S, notice or (lambda: None))
    timer.daemon = True
    timer.start()
    try:
        return answers.get(timeout=patience)
    except Empty:
        return late
    finally:
        timer.cancel()
