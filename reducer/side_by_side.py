"""A comparison of two systems on screen: the differences, the verdict, and clips with both texts side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.box import HORIZONTALS, SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.console import printable
from speechiq.reducer.compare import Comparison, Difference, Share
from speechiq.reducer.flags import Flags
from speechiq.reducer.levels import LEVELS, per_cent
from speechiq.reducer.said import Said, differing
from speechiq.reducer.table import FLAGS, show_share

MEANINGS = "; ".join(f"{name}: {meaning}" for name, meaning in FLAGS.values())
SIDES = {1: "A", -1: "B", 0: "neither"}


def as_table(comparison: Comparison, *flags: Flags) -> Table:
    """The differences: a row a level in the units that people read, its Z below, then SIQ, then what scores hide.

    A word error rate falls with ability, so that there a difference below 0 speaks for A.

    Args:
        comparison: As `compare` made it.
        *flags: Of A and of B.
    """
    table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("")
    for heading in ("A", "B", "A - B", "95 % of A - B", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("speaks for", no_wrap=True)
    for level, difference in comparison.raw.items():
        scores = [per_cent(level, score) for score in (difference.a, difference.b, difference.value)]
        ends = sorted(per_cent(level, end) for end in (difference.low, difference.high))
        table.add_row(f"{level.title()} {LEVELS[level].unit}", *_cells(scores, ends, difference))
        if comparison.z:
            table.add_row(f"{level.title()} Z", *_own_cells(comparison.z[level]), style="dim")
    if comparison.siq:
        table.add_row("SIQ", *_own_cells(comparison.siq), style="bold")
    table.add_section()
    for flag, (name, _) in FLAGS.items():
        table.add_row(f"{name} %", *(show_share(getattr(of, flag)) for of in flags))
    return table


def verdict(comparison: Comparison) -> str:
    """Who is better, and which intervals had to agree on that."""
    head = {comparison.a: "A is", comparison.b: "B is", None: "neither is"}[comparison.better]
    return f"{head} better beyond chance, by the intervals of {', '.join(comparison.asked)}"


def clip_table(share: Share, whole: str, one: Said, other: Said) -> Table:
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


def _own_cells(difference: Difference) -> list[str]:
    scores = [difference.a, difference.b, difference.value]
    return _cells(scores, [difference.low, difference.high], difference)


def _cells(scores: Sequence[float], ends: Sequence[float], difference: Difference) -> list[str]:
    one, other, value = scores
    interval = f"{ends[0]:+z.2f} to {ends[1]:+z.2f}"
    return [f"{one:z.2f}", f"{other:z.2f}", f"{value:+z.2f}", interval, f"{difference.p:.4f}", SIDES[difference.side]]


def _marked(words: list[tuple[str, bool]]) -> Text:
    text = Text()
    for apart, run in groupby(words, key=lambda word: word[1]):
        said = " ".join(printable(word) for word, _ in run)
        text.append(" " if text else "").append(f"[{said}]" if apart else said, "bold" if apart else "")
    return text


def _plain(text: str) -> Text:
    """Text of a run, never markup, in one line and without what steers a terminal."""
    return Text(printable(" ".join(text.split())))
