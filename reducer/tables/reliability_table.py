"""Show how reliable the judge of a suite is, by system and category."""

from collections.abc import Iterator

from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.bootstrap import describe_samples
from speechiq.reducer.stats.grid import Column, Grid, Important, caution_of_clusters
from speechiq.reducer.studies.judges.reliability import POOLED
from speechiq.reducer.tables.scoreboard_table import SYSTEM
from speechiq.reducer.tables.terminal import MISMATCH

#: Field of `Reliability` -> heading, meaning.
SHARES = {
    "unjudged": ("Unjudged", "answers without a readable score"),
    "unread": ("Unreadable", "single judgments without a readable score"),
    "refusals": ("Refusals", "answers that refuse"),
    "empty": ("Empty", "empty answers"),
    "equal": ("Equal", "pairs of repeated judgments of one answer with equal scores"),
    "match": ("Match", "answers that match the reference by rule, without a model"),
}
COEFFICIENTS = {
    "alpha": ("Alpha", "Krippendorff's alpha over repeated judgments: 1 full agreement, 0 that of chance"),
    "length": ("Length", "rank correlation of the judge's score with the number of words of the answer"),
    "rule": ("Judge and rule", "rank correlation of the judge's score with the score by rule (1 for a match, else F1)"),
}


def as_grid(scoreboard: Scoreboard) -> Grid:
    """Return a grid with a row per category and system, in the order of the scoreboard, then over all categories."""
    columns = [
        Column("category", "Category"),
        Column("system", SYSTEM),
        Column("items", "Answers", "d"),
        *(Column(name, f"{heading}\n%", ".1f", factor=100.0, meaning=text) for name, (heading, text) in SHARES.items()),
        *(Column(name, heading, ".2f", meaning=text) for name, (heading, text) in COEFFICIENTS.items()),
    ]
    rows = [
        {
            **reliability[row]._asdict(),
            "category": title(category),
            "system": scoreboard.pool.systems[row] + f" {MISMATCH}" * bool(scoreboard.list_mismatches(row)),
        }
        for category, reliability in scoreboard.reliability.items()
        for row in scoreboard.order
    ]
    return Grid(f"Suite {scoreboard.suite}: reliability of the judge", columns, rows, [*caption(scoreboard)])


def caption(scoreboard: Scoreboard) -> Iterator[str]:
    """Yield the meanings of the columns, and what the numbers cannot show."""
    yield from (f"{heading}: {meaning}" for heading, meaning in (*SHARES.values(), *COEFFICIENTS.values()))
    for category, found in scoreboard.reliability.items():
        if category == POOLED:
            yield f"{title(category)}: differences between categories count too, so alpha and correlations are larger"
        scale = "ordinal" if all(of.ordinal for of in found) else "interval"
        draws = max(of.draws for of in found)
        if draws > 1:
            yield f"{title(category)}: alpha for the {scale} scale, over {draws} judgments of each answer"
        else:
            yield f"{title(category)}: one judgment per answer, so that judgments cannot agree or differ"
    same = [
        f"{scoreboard.pool.systems[row]} ({title(category)})"
        for category, found in scoreboard.reliability.items()
        for row, of in enumerate(found)
        if of.constant
    ]
    if same:
        line = f"the judge gives all answers of {', '.join(same)} one score: no correlation and no alpha is defined"
        yield Important(line)
    if any(of.empty for found in scoreboard.reliability.values() for of in found):
        yield "empty answers are not sent to a judge: Equal, Alpha and correlations leave them out"
    if scoreboard.bars:
        yield describe_samples(scoreboard.bars.draws, scoreboard.bars.seed, scoreboard.pool.units)
        yield from filter(None, [caution_of_clusters(*scoreboard.pool.smallest)])
    yield "a judge can agree with itself and be wrong: `siq judge check` compares it with people"
