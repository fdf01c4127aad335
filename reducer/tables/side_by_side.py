"""Show a comparison of two systems: the differences, the verdict, and clips with both texts."""

from __future__ import annotations

from itertools import groupby
from math import isnan

from rich.box import HORIZONTALS, SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.console import printable
from speechiq.reducer.runs.flags import Flags
from speechiq.reducer.runs.texts import ClipTexts, differing
from speechiq.reducer.scores.remarks import title as title_of
from speechiq.reducer.studies.comparison import Comparison, Row, Share
from speechiq.reducer.tables.table import FLAGS, UNKNOWN, show_share

MEANINGS = "; ".join(f"{name}: {meaning}" for name, meaning in FLAGS.values())
RULE = "favors: the system that the 95 % interval speaks for, if it excludes 0; p (permutation test) has no part in it"

BRACKETS = "[words] in brackets differ between the two texts; they need not be errors"
SIDES = {1: "A", -1: "B", 0: "neither"}


def as_table(comparison: Comparison, *flags: Flags, stacked: bool = False) -> Table:
    """Return the table of differences: a row per score, then the flags.

    A word error rate falls with ability, so that there a difference below 0 speaks for A.

    Args:
        comparison: As `compare` made it.
        *flags: Of A and of B, if they are shown.
        stacked: Whether intervals are printed below the differences, for narrow terminals.
    """
    table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("", no_wrap=True)
    for heading in ("A", "B", *(["A - B\n95 % interval"] if stacked else ["A - B", "95 % of A - B", "p"])):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("favors\np" if stacked else "favors", no_wrap=True)
    between = "\n" if stacked else " "
    for row in comparison.rows:
        style = {"Z": "dim", "": "bold"}.get(row.unit, "")
        table.add_row(between.join(filter(None, (row.label, row.unit))), *_cells(row, stacked), style=style)
    table.add_section()
    for flag, (name, _) in FLAGS.items() if flags else ():
        table.add_row(f"{name} %", *(show_share(getattr(of, flag)) for of in flags))
    return table


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


def clip_table(share: Share, whole: str, one: ClipTexts, other: ClipTexts) -> Table:
    """Return a table of a clip's part in the difference, its reference, both texts, and the answers.

    Words that are not in the other text are in [brackets].

    Args:
        share: The clip's part.
        whole: The difference that it is a part of, with its unit.
        one: Texts of A.
        other: Texts of B.
    """
    parts = ", ".join(f"{title_of(level)} {part:+z.2f}" for level, part in share.levels.items())
    title = _plain(f"{share.clip}: {share.total:+z.2f} of {whole} ({parts})")
    table = Table(title=title, title_justify="left", title_style="bold", box=HORIZONTALS, show_lines=True, expand=True)
    for heading in ("Reference", "A", "B"):
        table.add_column(heading, overflow="fold", ratio=1)
    table.add_row(_plain(one.reference or other.reference), *map(_marked, differing(one.text, other.text)))
    questions = {name: answer.question for texts in (other, one) for name, answer in texts.answers.items()}
    for name in sorted(questions):
        answers = (texts.answers[name].answer if name in texts.answers else "" for texts in (one, other))
        table.add_row(_plain(questions[name]), *map(_plain, answers))
    return table


def _cells(row: Row, stacked: bool) -> list[str]:
    of, favors = row.difference, favors_of(row)
    interval = UNKNOWN if isnan(of.low) else f"{of.low:+z.2f} to {of.high:+z.2f}"
    scores, difference, p = [f"{of.a:z.2f}", f"{of.b:z.2f}"], f"{of.value:+z.2f}", f"{of.p:.4f}"
    if stacked:
        return [*scores, f"{difference}\n{interval}", f"{favors}\n{p}"]
    return [*scores, difference, interval, p, favors]


def favors_of(row: Row) -> str:
    """Return the system that the interval speaks for: A, B or neither; a dash without draws."""
    return UNKNOWN if isnan(row.difference.low) else SIDES[row.side]


def _marked(words: list[tuple[str, bool]]) -> Text:
    text = Text()
    for differs, run in groupby(words, key=lambda word: word[1]):
        part = " ".join(printable(word) for word, _ in run)
        text.append(" " if text else "").append(f"[{part}]" if differs else part, "bold" if differs else "")
    return text


def _plain(text: str) -> Text:
    """Return text of a run, never markup, in one line and without what steers a terminal."""
    return Text(printable(" ".join(text.split())))
