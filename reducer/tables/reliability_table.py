"""Show how reliable the judge of a suite is, by system and category."""

from __future__ import annotations

import math
from collections.abc import Iterator

from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import UNKNOWN, Column, Grid
from speechiq.reducer.studies.judges.reliability import POOLED, Reliability
from speechiq.reducer.tables.scoreboard_table import MISMATCH, SYSTEM

#: Heading -> what it means.
COLUMNS = {
    "Unjudged": "answers without a readable score",
    "Unread draws": "single draws without a readable score",
    "Refusals": "answers that refuse",
    "Empty": "empty answers",
    "Equal draws": "pairs of draws of one answer with equal scores",
    "Alpha": "Krippendorff's alpha over the draws: 1 full agreement, 0 that of chance",
    "Length": "rank correlation of the judge's score with the number of words of the answer",
    "Match": "answers that match the reference by rule, without a model",
    "Judge and rule": "rank correlation of the judge's score with the score by rule (1 for a match, else F1)",
}
SHARES = ("Unjudged", "Unread draws", "Refusals", "Empty", "Equal draws", "Match")


def as_grid(scoreboard: Scoreboard) -> Grid:
    """Return a grid with a row per category and system, in the order of the scoreboard, then one over all categories.

    Args:
        scoreboard: The scores of a suite with a judge.
    """
    columns = [Column("category", "Category"), Column("system", SYSTEM), Column("answers", "Answers", ".0f")]
    columns += [
        Column(name, f"{name}\n%", ".1f", factor=100.0) if name in SHARES else Column(name, name, ".2f")
        for name in COLUMNS
    ]
    rows = [
        {
            "category": title(category),
            "system": scoreboard.pool.systems[row] + f" {MISMATCH}" * bool(scoreboard.list_mismatches(row)),
            "answers": found[row].items,
            **values_of(found[row]),
        }
        for category, found in scoreboard.reliability.items()
        for row in scoreboard.order
    ]
    return Grid(f"Suite {scoreboard.suite}: reliability of the judge", columns, rows, [*caption(scoreboard)])


def values_of(of: Reliability) -> dict[str, float | Estimate]:
    """Return heading -> the number of a cell, for the headings of `COLUMNS`."""
    shares = zip(SHARES, (of.unjudged, of.unread, of.refusals, of.empty, of.equal, of.match), strict=True)
    return {**dict(shares), "Alpha": of.alpha, "Length": of.length, "Judge and rule": of.rule}


def cells_of(of: Reliability) -> dict[str, str]:
    """Return heading -> the text of a cell, in the order of `COLUMNS`."""
    values = values_of(of)
    shares = {name: Column(name, name, ".1f", factor=100.0) for name in SHARES}
    return {name: "\n".join(shares.get(name, Column(name, name, ".2f")).lines(values[name])) for name in COLUMNS}


def caption(scoreboard: Scoreboard) -> Iterator[str]:
    """Yield the meanings of the columns, and what the numbers cannot show."""
    for name, meaning in COLUMNS.items():
        yield f"{name}: {meaning}"
    for category, found in scoreboard.reliability.items():
        if category == POOLED:
            yield f"{title(category)}: differences between categories count too, so alpha and correlations are larger"
        scale = "ordinal" if all(of.ordinal for of in found) else "interval"
        draws = max(of.draws for of in found)
        if draws > 1:
            yield f"{title(category)}: alpha for the {scale} scale, over {draws} draws"
        else:
            yield f"{title(category)}: one draw per answer, so that draws cannot agree or differ"
    same = [
        f"{scoreboard.pool.systems[row]} ({title(category)})"
        for category, found in scoreboard.reliability.items()
        for row, of in enumerate(found)
        if of.constant
    ]
    if same:
        yield f"the judge gives all answers of {', '.join(same)} one score: no correlation and no alpha is defined"
    if any(of.empty for found in scoreboard.reliability.values() for of in found):
        yield "empty answers are not sent to a judge: Equal draws, Alpha and correlations leave them out"
    if scoreboard.bars:
        yield f"intervals: 95 %, from {scoreboard.bars.draws} draws of clips, seed {scoreboard.bars.seed}"
    yield "a judge can agree with itself and be wrong: `siq judge check` compares it with people"


def show_estimate(of: Estimate, factor: float = 1.0, sign: str = "") -> str:
    """Return a statistic over its interval; a dash if it is not defined.

    >>> show_estimate(Estimate(0.5, 0.25, 0.75)).splitlines()
    ['0.50', '0.25 to 0.75']
    """
    if math.isnan(of.value):
        return UNKNOWN
    value, low, high = (f"{factor * number:{sign}z.2f}" for number in of[:3])
    return value if math.isnan(of.low) else f"{value}\n{low} to {high}"
