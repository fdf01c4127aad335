"""Record the coverage of intervals in simulation, and warn about intervals from few clips or clusters."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from speechiq.core.console import count_of
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import Important

ENOUGH, ENOUGH_FOR_SIQ, ENOUGH_CLUSTERS = 50, 100, 10
#: Clips -> coverage of 95 % intervals of SIQ in the worst of the simulated populations, in percent: the mean over its
#: systems and the worst system, on the systems' own scale and on norms.
# Printed by `benchmarks/coverage.py --clips 14 50 --runs runs/demo`, 200 sets each.
MEASURED = {
    14: ((93, 88), (86, 81)),
    50: ((94, 80), (89, 80)),
}


def count_units(clips: int, clusters: int) -> str:
    """Return the number of clips in words, and that of their clusters if clips share one.

    >>> count_units(14, 14), count_units(200, 6)
    ('14 clips', '200 clips in 6 clusters')
    """
    return count_of(clips, "clip") + f" in {count_of(clusters, 'cluster')}" * (clusters < clips)


def name_units(samples: Iterable[Any]) -> str:
    """Return the noun of what draws take: clusters if a record of some has fewer `clusters` than `clips`.

    >>> name_units([Estimate(0.5, clusters=14, clips=14), Estimate(0.5, clusters=6, clips=200)])
    'clusters'
    """
    return "clusters" if any(sample.clusters < sample.clips for sample in samples) else "clips"


def caution_of_clusters(clips: int, clusters: int) -> str | None:
    """Return the caution about intervals from few clusters; None from 10 on, and if no two clips share one.

    >>> caution_of_clusters(200, 6)
    'Few clusters (200 clips in 6 clusters): the intervals are unreliable, since the clips of a cluster, such as a \
call or a speaker, are alike'
    """
    if clusters >= min(clips, ENOUGH_CLUSTERS):
        return None
    return Important(
        f"Few clusters ({count_units(clips, clusters)}): the intervals are unreliable, since the clips of a cluster, "
        "such as a call or a speaker, are alike"
    )


def caution_of_estimates(cells: Iterable[Any]) -> str | None:
    """Return the caution of the estimate with the fewest clusters among some cells; None if all have enough."""
    estimates = [cell for cell in cells if isinstance(cell, Estimate) and cell.clusters < cell.clips]
    few = min(estimates, key=attrgetter("clusters"), default=None)
    return few and caution_of_clusters(few.clips, few.clusters)


def caution_of_raw(clips: int, clusters: int) -> str | None:
    """Return the caution about intervals of mean raw scores; None from 50 clips (of the smallest category) on.

    Below 10 clusters of several clips it is that of `caution_of_clusters`.

    >>> caution_of_raw(14, 14)
    'Small test set (14 clips): the intervals are approximate. Those from fewer than 50 clips may be too narrow'
    """
    if few := caution_of_clusters(clips, clusters):
        return few
    if clips >= ENOUGH:
        return None
    return (
        f"Small test set ({count_units(clips, clusters)}): the intervals are approximate. "
        f"Those from fewer than {ENOUGH} clips may be too narrow"
    )


def caution(clips: int, clusters: int) -> str | None:
    """Return the caution about intervals of SIQ; None from 100 clips (of the smallest level) on.

    Below 10 clusters of several clips it is that of `caution_of_clusters`.

    >>> caution(100, 100) is None
    True
    """
    if few := caution_of_clusters(clips, clusters):
        return few
    if clips >= ENOUGH_FOR_SIQ:
        return None
    size = max((size for size in MEASURED if size <= clips), default=min(MEASURED))
    (own, worst), (norms, worst_on_norms) = MEASURED[size]
    with_size = f" of {size} clips" * (clips != size)
    return Important(
        f"Small test set ({count_units(clips, clusters)}): 95 % intervals of SIQ{with_size} contained the truth in "
        f"{own} % of simulated sets, worst system {worst} % (on norms {norms} and {worst_on_norms} %)"
    )


def caution_lines(caution: str | None) -> list[str]:
    """Return a caution as lines below a table: its first sentence is important, the figures follow; none without it."""
    sentence, _, figures = (caution or "").partition(". ")
    return [line for line in (Important(f"{sentence}."), figures) if line] if caution else []
