"""Show how reliable the judge of a suite is, by system and category."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.reducer.runs.judge_name import name_judges
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.studies.judges.reliability import Reliability, join_categories, measure
from speechiq.reducer.tables.table import MISMATCH, SYSTEM, UNKNOWN, show_share

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
#: Name of the rows over all categories.
POOLED = "every_category"
SHARES = ("Unjudged", "Unread draws", "Refusals", "Empty", "Equal draws", "Match")


def add_pooled(scoreboard: Scoreboard, *, draws: int, seed: int = 0) -> Scoreboard:
    """Return the scoreboard with the reliability over the answers of all categories, if one judge judged several.

    Args:
        scoreboard: The scores of a suite.
        draws: Number of draws for the intervals; 0 leaves them out.
        seed: Seed of the draws.
    """
    judges = {
        name_judges(task for task in system.tasks if task.level in scoreboard.reliability)
        for system in scoreboard.systems
    }
    if len(scoreboard.reliability) < 2 or any(";" in names for names in judges):
        return scoreboard
    answers = [
        {category: system.scored_answers(category) for category in scoreboard.reliability}
        for system in scoreboard.systems
    ]
    pooled = [measure(join_categories(of), draws=draws, seed=seed) for of in answers]
    return scoreboard._replace(reliability={**scoreboard.reliability, POOLED: pooled})


def as_table(scoreboard: Scoreboard) -> Table:
    """Return a table with a row per category and system, in the order of the scoreboard, then one over all categories.

    Args:
        scoreboard: The scores of a suite with a judge.
    """
    table = Table(title=f"Suite {scoreboard.suite}: reliability of the judge", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("Category", no_wrap=True)
    table.add_column(SYSTEM, overflow="fold")
    table.add_column("Answers", justify="right", no_wrap=True)
    for name in COLUMNS:
        table.add_column(f"{name}\n%" if name in SHARES else name, justify="right", no_wrap=True)
    mismatched = {of.system for of in scoreboard.mismatches}
    for category, found in scoreboard.reliability.items():
        for row in scoreboard.order:
            name = scoreboard.pool.systems[row]
            mark = f" {MISMATCH}" * (name in mismatched)
            cells = cells_of(found[row])
            table.add_row(Text(title(category)), Text(name + mark), str(found[row].items), *cells.values())
    table.caption = Text("\n".join(caption(scoreboard)))
    return table


def cells_of(of: Reliability) -> dict[str, str]:
    """Return heading -> the text of a cell, in the order of `COLUMNS`."""
    shares = dict(zip(SHARES, (of.unjudged, of.unread, of.refusals, of.empty, of.equal, of.match), strict=True))
    estimates = {"Alpha": of.alpha, "Length": of.length, "Judge and rule": of.rule}
    shown = {name: show_share(None if math.isnan(share) else share) for name, share in shares.items()}
    shown |= {name: show_estimate(estimate) for name, estimate in estimates.items()}
    return {name: shown[name] for name in COLUMNS}


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
