"""Measure how well two sources of labels agree: Cohen's kappa, with an interval from draws of clips."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.read.labels import Labels
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


def kappa(one: np.ndarray, other: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return Cohen's kappa of two lists of yes and no, shape (draws,); NaN if chance alone would agree.

    Args:
        one: Shape (items,).
        other: The same items.
        weights: How often each item counts, shape (draws, items); None counts each once.

    >>> kappa(np.array([True, True, False, False]), np.array([True, False, False, False])).tolist()
    [0.5]
    """
    weights = np.ones((1, len(one))) if weights is None else weights
    total = weights.sum(axis=1)
    agree, first, second = (weights @ part / total for part in (one == other, one, other))
    chance = first * second + (1 - first) * (1 - second)
    share = np.divide(agree - chance, 1 - chance, out=np.full(len(weights), np.nan), where=chance < 1)
    return np.asarray(share)


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
    here, there = (np.array([of.success[key] for key in shared]) for of in (one, other))
    clips = np.unique([item[0] for _, item in shared], return_inverse=True)[1]
    low = high = np.nan
    if draws:
        drawn = np.concatenate([kappa(here, there, weights) for weights in draw_weights(clips, draws, seed)])
        drawn = drawn[~np.isnan(drawn)]
        low, high = np.percentile(drawn, [2.5, 97.5]) if len(drawn) > draws / 2 else (np.nan, np.nan)
    agree = float((here == there).mean())
    return Agreement(one.name, other.name, len(shared), agree, float(kappa(here, there)[0]), float(low), float(high))
