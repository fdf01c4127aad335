"""Measure how well two sources of labels agree: Cohen's kappa, with an interval from draws of clips."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.labels import Labels
from speechiq.reducer.stats.agreement import weighted_kappa
from speechiq.reducer.stats.bootstrap import bootstrap
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import Column, Grid


class Agreement(NamedTuple):
    """Agreement of two sources of labels.

    Attributes:
        one, other: The sources, in words.
        items: Number of items that both labeled.
        agree: Share of these with equal labels.
        kappa: Cohen's kappa: agreement beyond chance; undefined if one source has only one label on these items.
    """

    one: str
    other: str
    items: int
    agree: float
    kappa: Estimate


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


def as_grid(rows: Sequence[Agreement]) -> Grid:
    """Return a grid with one row per pair of sources."""
    columns = [
        Column("one", "One"),
        Column("other", "Other"),
        Column("items", "Items", "d"),
        Column("agree", "Equal %", ".1f", factor=100),
        Column("kappa", "Cohen's kappa\n95 % interval", ".3f"),
    ]
    return Grid("Agreement of labels", columns, [row._asdict() for row in rows])


def _compare(one: Labels, other: Labels, draws: int, seed: int) -> Agreement:
    shared = sorted(one.success.keys() & other.success.keys())
    if not shared:
        raise SpeechIQError(f"{one.name} and {other.name} share no item; label the same items")
    here, there = (np.array([float(of.success[key]) for key in shared]) for of in (one, other))
    clips = [item[0] for _, item in shared]
    kappa = bootstrap(partial(weighted_kappa, here, there), clips, draws=draws, seed=seed)
    return Agreement(one.name, other.name, len(shared), float((here == there).mean()), kappa)
