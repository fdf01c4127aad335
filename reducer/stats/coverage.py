"""Record the coverage of intervals in simulation, and warn about intervals from few clips."""

from __future__ import annotations

from typing import NamedTuple

from speechiq.core.console import count_of
from speechiq.reducer.stats.grid import Important

ENOUGH = 50


class Coverage(NamedTuple):
    """Hold the lowest and highest coverage of 95 % intervals of SIQ over the simulated populations, in percent."""

    own_scale: tuple[int, int]
    norms: tuple[int, int]


# Printed by `benchmarks/coverage.py --clips 5 10 14 20 30 --runs runs/demo` over nine populations, 200 sets each.
MEASURED = {
    5: Coverage((86, 93), (85, 97)),
    10: Coverage((89, 96), (87, 98)),
    14: Coverage((91, 97), (86, 98)),
    20: Coverage((93, 98), (86, 99)),
    30: Coverage((93, 98), (87, 100)),
}


def caution_of_raw(clips: int) -> str | None:
    """Return the caution about intervals of mean raw scores; None from 50 clips (of the smallest category) on.

    >>> caution_of_raw(14)
    'Small test set (14 clips): the intervals are approximate. Those from fewer than 50 clips may be too narrow'
    """
    if clips >= ENOUGH:
        return None
    return f"{_begin(clips)} Those from fewer than {ENOUGH} clips may be too narrow"


def caution(clips: int) -> str | None:
    """Return the caution about intervals of small sets; None from 50 clips (of the smallest level) on.

    >>> caution(50) is None
    True
    """
    if clips >= ENOUGH:
        return None
    size = max((size for size in MEASURED if size <= clips), default=min(MEASURED))
    own, norms = (f"{low} to {high} %" for low, high in MEASURED[size])
    covered = f"95 % intervals of SIQ covered {own} in simulation, {norms} on norms"
    with_size = f"With {size} clips, " * (clips != size)
    return f"{_begin(clips)} {with_size}{covered}"


def caution_lines(caution: str | None) -> list[str]:
    """Return a caution as lines below a table: its first sentence is important, the figures follow; none without it."""
    sentence, _, figures = (caution or "").partition(". ")
    return [Important(f"{sentence}."), figures] if caution else []


def _begin(clips: int) -> str:
    return f"Small test set ({count_of(clips, 'clip')}): the intervals are approximate."
