"""Measure how well two sources of labels agree: Cohen's kappa, with an interval from draws of clips."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.labels import Labels
from speechiq.reducer.stats.agreement import weighted_kappa
from speechiq.reducer.stats.auc import draw_weights


class Agreement(NamedTuple):
    """Agreement of two sources of labels.

    Attributes:
        one, other: The sources, in words.
        items: Number of items that both labeled.
        agree: Share of these with equal labels.
        kappa: Cohen's kappa: agreement beyond chance; NaN if one source has only one label on these items.
        low, high: Its 95 % interval, from draws of clips; NaN without draws.
    """

    one: str
    other: str
    items: int
    agree: float
    kappa: float
    low: float
    high: float


def compare(sources: Sequence[Labels], draws: int = 1000, seed: int = 0) -> list[Agreement]:
    """Return the agreement of each pair of sources.

    Args:
        sources: The labels.
        draws: Number of draws of clips; 0 leaves intervals out.
        seed: Of the draws.

    Raises:
        SpeechIQError: Two sources share no item.
    """
    return [_compare(one, other, draws, seed) for one, other in combinations(sources, 2)]


def as_records(rows: Sequence[Agreement]) -> list[dict[str, Any]]:
    """Return one record per pair, with None for what is not defined."""
    return [{name: None if value != value else value for name, value in of._asdict().items()} for of in rows]


def _compare(one: Labels, other: Labels, draws: int, seed: int) -> Agreement:
    shared = sorted(one.success.keys() & other.success.keys())
    if not shared:
        raise SpeechIQError(f"{one.name} and {other.name} share no item; label the same items")
    here, there = (np.array([float(of.success[key]) for key in shared]) for of in (one, other))
    clips = np.unique([item[0] for _, item in shared], return_inverse=True)[1]
    low = high = np.nan
    if draws:
        drawn = np.concatenate([weighted_kappa(here, there, counts) for counts in draw_weights(clips, draws, seed)])
        drawn = drawn[~np.isnan(drawn)]
        low, high = np.percentile(drawn, [2.5, 97.5]) if len(drawn) > draws / 2 else (np.nan, np.nan)
    agree = float((here == there).mean())
    value = float(weighted_kappa(here, there, np.ones((1, len(shared))))[0])
    return Agreement(one.name, other.name, len(shared), agree, value, float(low), float(high))
