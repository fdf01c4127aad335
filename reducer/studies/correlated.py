"""Correlate SIQ and the plain metrics with the ranks that people, or other metrics, give to the systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from speechiq.reducer.scores.ranking import Ranking
from speechiq.reducer.stats.correlation import FEWEST, Correlation, correlate
from speechiq.reducer.stats.grid import Cell, Column, Grid


class Row(NamedTuple):
    """One metric (`SIQ`, a level with its column, or another column of ranks), and its correlation with the ranks."""

    metric: str
    correlation: Correlation


def correlate_ranks(ranking: Ranking, ranks: Mapping[str, Mapping[str, float]]) -> list[Row]:
    """Return each metric with its correlation with the first column of ranks (paper, Table 3).

    Systems without a rank are left out. SIQ is left out if the ranking has none.

    Args:
        ranking: The scored systems.
        ranks: Column -> system -> rank, 1 for the best; as `read.ranks.read_ranks` returns them.
    """
    first, *others = ranks
    systems = [name for name in ranking.scores.systems if name in ranks[first]]
    places = [ranking.scores.systems.index(name) for name in systems]
    truth = [-ranks[first][name] for name in systems]
    return [Row(name, correlate(truth, scores[places].tolist())) for name, scores in _metrics(ranking)] + [
        Row(name, correlate(truth, [-ranks[name][system] for system in systems])) for name in others
    ]


def _metrics(ranking: Ranking) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and the scores of each metric; in all of them more is better."""
    if not np.isnan(ranking.scores.siq).all():
        yield "SIQ", ranking.scores.siq
    for level, category in ranking.pool.levels.items():
        yield f"{level} {category.column}", ranking.scores.levels[level].raw


def as_grid(rows: Sequence[Row], ranks: str) -> Grid:
    """Return a grid with one row per metric: each coefficient with the ranks over its 95 % interval and its p-value."""
    columns = [Column("metric", "Metric"), Column("systems")]
    for name in Correlation._fields[1:]:
        columns += [
            Column(name, f"{name.title()}\n95 % interval", ".3f", ends=".2f"),
            Column(f"{name}_p", "p", ".2g", below=name),
        ]
    cells: list[dict[str, Cell]] = []
    for row in rows:
        cells.append({"metric": row.metric, "systems": row.correlation.systems})
        for name, coefficient in zip(Correlation._fields[1:], row.correlation[1:], strict=True):
            cells[-1] |= {name: coefficient.estimate, f"{name}_p": coefficient.p}
    systems = rows[0].correlation.systems if rows else 0
    notes = [
        f"{systems} systems; more is better in every metric, error rates are taken negative",
        "intervals cover the choice of systems, not that of clips",
        *([f"no intervals below {FEWEST} systems"] if systems < FEWEST else []),
    ]
    return Grid(f"Correlation with {ranks}", columns, cells, notes)
