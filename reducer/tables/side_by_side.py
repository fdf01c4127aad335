"""Show a comparison of two systems: the differences, the verdict, and clips with both texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from math import isnan
from typing import NamedTuple

from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.texts import ClipTexts, differing, read_texts
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import UNKNOWN, Cell, Column, Grid
from speechiq.reducer.studies.comparison import Comparison, Difference, Share
from speechiq.reducer.studies.pair_comparison import Compared
from speechiq.reducer.tables.scoreboard_table import FLAGS

MEANINGS = "; ".join(f"{name}: {meaning}" for name, meaning in FLAGS.values())
RULE = "favors: the system that the 95 % interval speaks for, if it excludes 0; p (permutation test) has no part in it"

BRACKETS = "[words] in brackets differ between the two texts; they need not be errors"
SIDES = {1: "A", -1: "B", 0: "neither"}


class Row(NamedTuple):
    """One line of the table of differences, in the units that people read.

    Attributes:
        name: Name of a level, or SIQ.
        unit: Unit of the numbers; "" for SIQ.
        a: Score of A.
        b: Score of B.
        difference: A minus B.
        low: Lower end of its 95 % interval; NaN without draws.
        high: Upper end.
        p: Two-sided p value of the permutation test.
        favors: The system that the interval speaks for: A, B or neither; a dash without draws.
    """

    name: str
    unit: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    p: float
    favors: str


def rows_of(comparison: Comparison, levels: Mapping[str, Category]) -> Iterator[Row]:
    """Yield a row per level in shown units, its Z next, then SIQ.

    A word error rate falls with ability, so that there a difference below 0 speaks for A.

    Args:
        comparison: As `compare` made it.
        levels: Each with the column that it was scored by.
    """
    for level, difference in comparison.raw.items():
        measure = levels[level]
        a, b, value = (float(measure.show(score)) for score in (difference.a, difference.b, difference.value))
        low, high = sorted(float(measure.show(end)) for end in (difference.low, difference.high))
        yield Row(level.title(), measure.unit, a, b, value, low, high, difference.p, _favors(difference))
        if comparison.z:
            yield _own_row(level.title(), "Z", comparison.z[level])
    if comparison.siq:
        yield _own_row("SIQ", "", comparison.siq)


def as_grid(compared: Compared, categories: Mapping[str, Category]) -> Grid:
    """Return the grid of differences: the rows of `rows_of`, then the flags; the verdict and the notes below it.

    Args:
        compared: The comparison of two systems.
        categories: Each with the column that it was scored by.
    """
    found = compared.found
    columns = [
        Column("name", ""),
        Column("a", "A", ".2f"),
        Column("b", "B", ".2f"),
        Column("difference", "A - B\n95 % interval", "+.2f"),
        Column("p", "p", ".4f"),
        Column("favors", "favors"),
    ]
    rows: list[dict[str, Cell]] = []
    styles = []
    for row in rows_of(found, categories):
        name = " ".join(filter(None, (row.name, row.unit)))
        gap = Estimate(row.difference, row.low, row.high)
        rows.append({"name": name, "a": row.a, "b": row.b, "difference": gap, "p": row.p, "favors": row.favors})
        styles.append({"Z": "dim", "": "bold"}.get(row.unit, ""))
    for flag, (name, _) in FLAGS.items():
        a, b = (
            UNKNOWN if share is None else f"{100 * share:.1f}" for share in (getattr(of, flag) for of in compared.flags)
        )
        rows.append({"name": f"{name} %", "a": a, "b": b})
        styles.append("")
    notes = [verdict(found), *compared.notes, RULE, MEANINGS]
    return Grid(f"A: {found.a}\nB: {found.b}", columns, rows, notes, styles)


def clip_grids(compared: Compared, count: int) -> list[Grid]:
    """Return a grid for each of the clips that drive the difference: its reference, both texts, and the answers.

    Words that are not in the other text are in [brackets].

    Args:
        compared: The comparison of two systems.
        count: The most clips.
    """
    shares = [share for share in compared.found.clips if share.total][:count]
    texts = [read_texts(tasks, [share.clip for share in shares]) for tasks in compared.texts]
    whole = f"{sum(share.total for share in compared.found.clips):+z.2f} {compared.unit}"
    return [_clip_grid(share, whole, *(of[share.clip] for of in texts)) for share in shares]


def verdict(comparison: Comparison) -> str:
    """Return who is better by the one rule: every interval that was asked for excludes 0 in favor of that system."""
    if not comparison.draws:
        return "no verdict: it rests on the intervals, which --bootstrap 0 leaves out"
    if comparison.better:
        side = "A" if comparison.better == comparison.a else "B"
        return f"{side} is better beyond chance, by the intervals of {', '.join(comparison.asked)}"
    groups = {side: [name for name, of in comparison.sides.items() if of == side] for side in SIDES}
    found = [
        f"{', '.join(names)} {'favors' if len(names) == 1 else 'favor'} {SIDES[side]}"
        for side, names in groups.items()
        if names
    ]
    return f"neither is better beyond chance: {'; '.join(found)}. A system is better only if " + (
        f"all of {', '.join(comparison.asked)} favor it" if len(comparison.asked) > 1 else "that row favors it"
    )


def _clip_grid(share: Share, whole: str, a: ClipTexts, b: ClipTexts) -> Grid:
    parts = ", ".join(f"{level.title()} {part:+z.2f}" for level, part in share.levels.items())
    marked = [_mark(words) for words in differing(a.text, b.text)]
    rows: list[dict[str, Cell]] = [{"reference": _join(a.reference or b.reference), "a": marked[0], "b": marked[1]}]
    questions = {name: answer.question for texts in (b, a) for name, answer in texts.answers.items()}
    for name in sorted(questions):
        answers = [_join(texts.answers[name].answer) if name in texts.answers else "" for texts in (a, b)]
        rows.append({"reference": _join(questions[name]), "a": answers[0], "b": answers[1]})
    columns = [Column("reference", "Reference"), Column("a", "A"), Column("b", "B")]
    return Grid(f"{_join(share.clip)}: {share.total:+z.2f} of {whole} ({parts})", columns, rows)


def _own_row(name: str, unit: str, difference: Difference) -> Row:
    """Return the row of a number that is shown as it is computed."""
    numbers = difference.a, difference.b, difference.value, difference.low, difference.high, difference.p
    return Row(name, unit, *numbers, _favors(difference))


def _favors(difference: Difference) -> str:
    return UNKNOWN if isnan(difference.low) else SIDES[difference.side]


def _mark(words: list[tuple[str, bool]]) -> str:
    """Return words as a text, those that differ in brackets."""
    runs = ((differs, " ".join(word for word, _ in run)) for differs, run in groupby(words, key=lambda word: word[1]))
    return " ".join(f"[{text}]" if differs else text for differs, text in runs)


def _join(text: str) -> str:
    """Return text of a run in one line."""
    return " ".join(text.split())
