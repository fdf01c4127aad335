"""Measure whether a judge of pairs prefers an answer for its place: it sees each pair in both orders."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from speechiq.reducer.stats.bootstrap import NO_CLUSTERS, estimate_share
from speechiq.reducer.stats.estimate import Estimate

if TYPE_CHECKING:
    from speechiq.metrics.judge.judging import PairJudgment


class PositionBias(NamedTuple):
    """Hold the influence of the order on a judge's verdicts.

    Attributes:
        unjudged: Share of draws without a verdict in one of the orders; they do not count further.
        changed: Share of draws whose verdict changes with the order.
        reversed: Share of draws in which another answer wins in the other order.
        first: Share of the verdicts with a winner in which the first place wins; 0.5 without a preference.
    """

    pairs: int
    unjudged: float
    changed: Estimate
    reversed: Estimate
    first: Estimate


def measure(
    pairs: Sequence[PairJudgment], clips: Sequence[str], clusters: Mapping[str, str] = NO_CLUSTERS
) -> PositionBias:
    """Return the position bias of a judge on the pair of each clip; shares have intervals (`estimate_share`).

    >>> from types import SimpleNamespace as Pair
    >>> pairs = [Pair(shown_first=(1.0,), shown_second=(-1.0,)), Pair(shown_first=(1.0,), shown_second=(1.0,))]
    >>> bias = measure(pairs, ["a", "b"])
    >>> bias.changed.value, bias.first.value
    (0.5, 0.75)
    """
    rows = [_count(np.array(pair.shown_first), np.array(pair.shown_second)) for pair in pairs]
    draws, judged, changed, turned, won, first = np.array(rows, float).reshape(len(rows), 6).T
    unjudged = 1 - float(judged.sum()) / float(draws.sum()) if draws.sum() else math.nan
    sums = (changed, judged), (turned, judged), (first, won)
    shares = (estimate_share(*counts, clips, clusters) for counts in sums)
    return PositionBias(len(rows), unjudged, *shares)


def _count(shown_first: np.ndarray, shown_second: np.ndarray) -> tuple[int, ...]:
    """Count the draws of a pair (all, judged, changed, reversed) and its verdicts (with a winner, for the first)."""
    judged = ~(np.isnan(shown_first) | np.isnan(shown_second))
    a, b = shown_first[judged], shown_second[judged]
    won, first = (a != 0).sum() + (b != 0).sum(), (a > 0).sum() + (b < 0).sum()
    return len(judged), len(a), int((a != b).sum()), int((a * b < 0).sum()), int(won), int(first)
