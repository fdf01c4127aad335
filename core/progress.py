"""Show progress bars, one for all processes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm


def progress_bar(items: Iterable[Any] | None = None, *, total: int, verb: str, unit: str) -> tqdm[Any]:
    """Return a bar over `items`, or one to be updated; only the first process shows it.

    Args:
        items: The items to iterate over, or `None`.
        total: Number of items.
        verb: Who does what, such as `demo:whisper-base transcribing`.
        unit: Name of an item.
    """
    return tqdm(items, total=total, desc=verb, unit=unit, disable=os.environ.get("RANK", "0") != "0")
