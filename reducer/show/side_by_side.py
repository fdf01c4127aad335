"""Show a comparison of two systems on screen: the differences, the verdict, and clips with both texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isnan

from rich.box import HORIZONTALS, SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.console import printable
from speechiq.reducer.read.flags import Flags
from speechiq.reducer.read.measure import Category
from speechiq.reducer.read.texts import ClipTexts, differing
from speechiq.reducer.show.table import FLAGS, UNKNOWN, show_share
from speechiq.reducer.stats.comparison import Comparison, Difference, Share

MEANINGS = "; ".join(f"{name}: {meaning}" for name, meaning in FLAGS.values())
RULE = "favours: the system that the 95 % interval speaks for, if it excludes 0; p (permutation test) has no part in it"

BRACKETS = "[words] in brackets differ between the two texts; they need not be errors"
SIDES = {1: "A", -1: "B", 0: "neither"}


def as_table(comparison: Comparison, *flags: Flags, levels: Mapping[str, Category], stacked: bool = False) -> Table:
    """Return the table of differences: one row per level in shown units, its Z below, then SIQ, then the flags.

    A word error rate falls with ability, so that there a difference below 0 speaks for A.

    Args:
        comparison: As `compare` made it.
        *flags: Of A and of B.
        levels: Each with the column that it was scored by.
        stacked: Whether intervals are printed below the differences, for narrow terminals.
    """
    table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("", no_wrap=True)
    for heading in ("A", "B", *(["A - B\n95 % interval"] if stacked else ["A - B", "95 % of A - B", "p"])):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("favours\np" if stacked else "favours", no_wrap=True)
    between = "\n" if stacked else " "
    for level, difference in comparison.raw.items():
        scores = [levels[level].show(score) for score in (difference.a, difference.b, difference.value)]
        ends = sorted(levels[level].show(end) for end in (difference.low, difference.high))
        table.add_row(f"{level.title()}{between}{levels[level].unit}", *_cells(scores, ends, difference, stacked))
        if comparison.z:
            table.add_row(f"{level.title()}{between}Z", *_own_cells(comparison.z[level], stacked), style="dim")
    if comparison.siq:
        table.add_row("SIQ", *_own_cells(comparison.siq, stacked), style="bold")
    table.add_section()
    for flag, (name, _) in FLAGS.items():
        table.add_row(f"{name} %", *(show_share(getattr(of, flag)) for of in flags))
    return table


def verdict(comparison: Comparison) -> str:
    """Return who is better by the one rule: every interval that was asked for excludes 0 in favour of that system."""
    if not comparison.draws:
        return "no verdict: it rests on the intervals, which --bootstrap 0 leaves out"
    if comparison.better:
        side = "A" if comparison.better == comparison.a else "B"
        return f"{side} is better beyond chance, by the intervals of {', '.join(comparison.asked)}"
    groups = {side: [name for name, of in comparison.sides.items() if of == side] for side in SIDES}
    found = [
        f"{', '.join(names)} {'favours' if len(names) == 1 else 'favour'} {SIDES[side]}"
        for side, names in groups.items()
        if names
    ]
    return f"neither is better beyond chance: {'; '.join(found)}. A system is better only if " + (
        f"all of {', '.join(comparison.asked)} favour it" if len(comparison.asked) > 1 else "that row favours it"
    )


def clip_table(share: Share, whole: str, one: ClipTexts, other: ClipTexts) -> Table:
    """A clip's part in the difference, its reference, both texts, and the answers.

    Words that the other text lacks stand in [brackets].

    Args:
        share: The clip's part.
        whole: The difference that it is a part of, with its unit.
        one: What A said.
        other: What B said.
    """
    parts = ", ".join(f"{level.title()} {part:+z.2f}" for level, part in share.levels.items())
    title = _plain(f"{share.clip}: {share.total:+z.2f} of {whole} ({parts})")
    table = Table(title=title, title_justify="left", title_style="bold", box=HORIZONTALS, show_lines=True, expand=True)
    for heading in ("Reference", "A", "B"):
        table.add_column(heading, overflow="fold", ratio=1)
    table.add_row(_plain(one.reference or other.reference), *map(_marked, differing(one.text, other.text)))
    questions = {name: answer.question for said in (other, one) for name, answer in said.answers.items()}
    for name in sorted(questions):
        answers = (said.answers[name].answer if name in said.answers else "" for said in (one, other))
        table.add_row(_plain(questions[name]), *map(_plain, answers))
    return table


def _own_cells(difference: Difference, stacked: bool) -> list[str]:
    scores = [difference.a, difference.b, difference.value]
    return _cells(scores, [difference.low, difference.high], difference, stacked)


def _cells(scores: Sequence[float], ends: Sequence[float], difference: Difference, stacked: bool) -> list[str]:
    one, other, value = scores
    known = not isnan(difference.low)
    interval = f"{ends[0]:+z.2f} to {ends[1]:+z.2f}" if known else UNKNOWN
    favoured, p = SIDES[difference.side] if known else UNKNOWN, f"{difference.p:.4f}"
    if stacked:
        return [f"{one:z.2f}", f"{other:z.2f}", f"{value:+z.2f}\n{interval}", f"{favoured}\n{p}"]
    return [f"{one:z.2f}", f"{other:z.2f}", f"{value:+z.2f}", interval, p, favoured]


def _marked(words: list[tuple[str, bool]]) -> Text:
    text = Text()
    for apart, run in groupby(words, key=lambda word: word[1]):
        said = " ".join(printable(word) for word, _ in run)
        text.append(" " if text else "").append(f"[{said}]" if apart else said, "bold" if apart else "")
    return text


def _plain(text: str) -> Text:
    """Text of a run, never markup, in one line and without what steers a terminal."""
    return Text(printable(" ".join(text.split())))
