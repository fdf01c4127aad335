"""Score the letter or label that was read from an answer, next to that of an answer that is always the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from speechiq.metrics.option_letters import UNPARSED


def score_key(found: str, doc: Mapping[str, Any]) -> dict[str, float]:
    """Return the scores of one item.

    Args:
        found: The letter or label of the answer; `?` for an answer without one.
        doc: `gold` is the right one, `majority` the right one of most items of the data set.

    Returns:
        `acc`, `unparsed`, and `floor`: the accuracy of a system that always answers `majority`.

    >>> score_key("B", {"gold": "B", "majority": "A"})
    {'acc': 1.0, 'unparsed': 0.0, 'floor': 0.0}
    """
    return {
        "acc": float(found == doc["gold"]),
        "unparsed": float(found == UNPARSED),
        "floor": float(doc["majority"] == doc["gold"]),
    }
