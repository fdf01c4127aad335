"""Progress bars, one for all processes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm


def progress_bar(items: Iterable[Any] | None = None, *, total: int, verb: str, unit: str) -> tqdm[Any]:
    """A bar over `items`, or one to be updated; shown by the first process alone.

    Args:
        items: what is gone through, or `None`.
        total: how many there are.
        verb: who does what, such as `demo:whisper-base transcribing`.
        unit: what is counted.
    """
    return tqdm(items, total=total, desc=verb, unit=unit, disable=os.environ.get("RANK", "0") != "0")
