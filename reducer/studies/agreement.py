"""Compare any two raters of the same items, such as sources of labels or persons, and show how far they agree."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from speechiq.reducer.runs.samples import Item
from speechiq.reducer.stats.agreement import compare_raters
from speechiq.reducer.stats.bootstrap import NO_CLUSTERS
from speechiq.reducer.stats.grid import INTERVAL, Column, Grid, caution_of_estimates

Key = TypeVar("Key", str, tuple[str, Item])

#: Columns of what `stats.agreement.Agreement` holds.
COLUMNS = {
    column.name: column
    for column in (
        Column("equal", f"Equal %\n{INTERVAL}", ".1f", factor=100),
        Column("kappa", f"Kappa\n{INTERVAL}", ".2f"),
        Column("alpha", f"Alpha\n{INTERVAL}", ".2f"),
        Column("spearman", f"Spearman\n{INTERVAL}", ".2f"),
        Column("bias", f"Bias\n{INTERVAL}", "+.2f"),
    )
}
RATERS = (Column("a", "A"), Column("b", "B"), Column("items", "Items", "d"))


def compare_each_pair(
    raters: Iterable[tuple[str, Mapping[Key, float]]],
    clip_of: Callable[[Key], str],
    clusters: Mapping[str, str] = NO_CLUSTERS,
    *,
    fewest: int = 1,
    draws: int,
) -> list[dict[str, Any]]:
    """Return a record for each two raters: their names `a` and `b`, the number of `items`, and their agreement.

    Pairs with fewer than `fewest` items that both scored are left out. Intervals come from draws of the clips of the
    items, which `clip_of` names, or of their `clusters`; 0 draws leave them out.
    """
    records = []
    for (name_a, scores_a), (name_b, scores_b) in combinations(raters, 2):
        keys = sorted(scores_a.keys() & scores_b.keys())
        if len(keys) >= fewest:
            a, b = (np.array([float(scores[key]) for key in keys]) for scores in (scores_a, scores_b))
            agreement = compare_raters(a, b, [clip_of(key) for key in keys], clusters, draws=draws)
            records.append({"a": name_a, "b": name_b, "items": len(keys), **agreement._asdict()})
    return records


def as_grid(
    title: str,
    rows: Sequence[Mapping[str, Any]],
    statistics: Sequence[str],
    notes: Sequence[str] = (),
    names: Sequence[Column] = RATERS,
) -> Grid:
    """Return a grid of records with the fields of an `Agreement`: columns that name each row, then `statistics`."""
    few = caution_of_estimates(cell for row in rows for cell in row.values())
    return Grid(title, [*names, *(COLUMNS[name] for name in statistics)], rows, [*notes, *filter(None, [few])])
