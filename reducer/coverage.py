"""How often intervals held the true score in simulation, and what to say about it on small sets."""

from __future__ import annotations

ENOUGH = 50
MEASURED: dict[int, tuple[int, int]] = {5: (80, 97), 14: (88, 97)}


def caution(clips: int) -> str | None:
    """Return what marks intervals of small sets in every output, None from 50 clips on.

    Args:
        clips: How many the smallest level has.

    >>> caution(50) is None
    True
    """
    if clips >= ENOUGH:
        return None
    size = max((size for size in MEASURED if size <= clips), default=min(MEASURED))
    low, high = MEASURED[size]
    return f"{clips} clips: 95 % intervals of SIQ covered {low} to {high} % in simulation with {size} clips"
