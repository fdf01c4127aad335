"""Show a comparison of two systems: the differences, the verdict, and clips with both texts."""

from collections.abc import Iterator
from itertools import groupby
from math import isnan

from speechiq.reducer.output.scoreboard_table import FLAGS
from speechiq.reducer.runs.texts import ClipTexts, differing, read_transcripts
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.stats.grid import INTERVAL, UNKNOWN, Cell, Column, Grid, Important
from speechiq.reducer.studies.compare import Compared
from speechiq.reducer.studies.comparison import ClipShare, Comparison, ComparisonRow

MEANINGS = "; ".join(f"{name}: {meaning}" for name, meaning in FLAGS.values())
RULE = "better: the system that the 95 % interval speaks for, if it excludes 0; p (permutation test) has no part in it"

BRACKETS = "[words] in brackets differ between the two texts; they need not be errors"
SIDES = {1: "A", -1: "B", 0: "neither"}


def comparison_grid(compared: Compared) -> Grid:
    """Return the grid of differences: the rows of the comparison, then the flags; verdict and notes below it."""
    found = compared.comparison
    columns = [
        Column("name", ""),
        Column("a", "A", ".2f"),
        Column("b", "B", ".2f"),
        Column("difference", f"A - B\n{INTERVAL}", "+.2f"),
        Column("p", "p", ".4f"),
        Column("better", "better"),
    ]
    rows: list[dict[str, Cell]] = []
    styles = []
    for row in found.rows:
        name = " ".join(filter(None, (row.label, row.unit)))
        scores: dict[str, Cell] = {"difference": row.difference.estimate}
        scores |= {part: getattr(row.difference, part) for part in ("a", "b", "p")}
        rows.append({"name": name, **scores, "better": better_of(row)})
        styles.append({"Z": "dim", "": "bold"}.get(row.unit, ""))
    for flag, (name, _) in FLAGS.items() if compared.flags else ():
        shares = [getattr(flags, flag) for flags in compared.flags]
        if shares == [None, None]:
            continue
        a, b = (UNKNOWN if share is None else f"{100 * share:.1f}" for share in shares)
        rows.append({"name": f"{name} %", "a": a, "b": b})
        styles.append("")
    notes = [
        Important(verdict(found)),
        *compared.notes,
        *_explain_conflicts(found),
        RULE,
        *([MEANINGS] if compared.flags else []),
    ]
    return Grid(f"A: {found.a}\nB: {found.b}", columns, rows, notes, styles)


def clip_grids(compared: Compared, count: int) -> list[Grid]:
    """Return a grid for each of the `count` most decisive clips: reference, both texts with [differences], answers."""
    shares = [share for share in compared.comparison.clips if share.total][:count]
    clips = [share.clip for share in shares]
    a, b = (read_transcripts(tasks, clips) for tasks in compared.texts)
    whole = f"{sum(share.total for share in compared.comparison.clips):+z.2f} {compared.unit}"
    return [_clip_grid(share, whole, a[share.clip], b[share.clip]) for share in shares]


def verdict(comparison: Comparison) -> str:
    """Return who is better by the one rule: every interval that was asked for excludes 0 in favor of that system."""
    if not comparison.draws:
        return "no verdict: it rests on the intervals, which --bootstrap 0 leaves out"
    if comparison.better:
        side = "A" if comparison.better == comparison.a else "B"
        return f"{side} is better beyond chance, by the intervals of {', '.join(comparison.asked)}"
    parts = []
    for sign, word in SIDES.items():
        if names := [name for name, each in comparison.sides.items() if each == sign]:
            better = f"{word} is better" if sign else word
            parts.append(f"{better} in {', '.join(names)}")
    needed = f"in all of {', '.join(comparison.asked)}" if len(comparison.asked) > 1 else "in that row"
    return f"neither is better beyond chance: {'; '.join(parts)}. A system is better only if it is {needed}"


def _explain_conflicts(comparison: Comparison) -> Iterator[str]:
    """Yield why the p value and the interval of a row say different things, if they do."""
    for scaled in (False, True):
        rows = [row for row in comparison.conflicts if (row.unit in ("Z", "")) == scaled]
        names = ", ".join(f"{row.label} {row.unit}".strip() for row in rows)
        if scaled and rows:
            yield Important(
                f"{names}: p asks whether these clips separate A from B on a scale that is held fixed; the interval is "
                "for other clips, which may count more and, without norms, set another scale"
            )
        elif rows:
            yield Important(
                f"{names}: p asks whether swapping A and B clip by clip gives such a difference; the interval is that "
                "of the mean on other clips. With few clips, or one large difference, only more clips decide"
            )


def _clip_grid(share: ClipShare, whole: str, a: ClipTexts, b: ClipTexts) -> Grid:
    parts = ", ".join(f"{title(level)} {part:+z.2f}" for level, part in share.levels.items())
    marked = [_mark(words) for words in differing(a.text, b.text)]
    rows: list[dict[str, Cell]] = [{"reference": _join(a.reference or b.reference), "a": marked[0], "b": marked[1]}]
    questions = {name: answer.question for texts in (b, a) for name, answer in texts.answers.items()}
    for name in sorted(questions):
        answers = [_join(texts.answers[name].answer) if name in texts.answers else "" for texts in (a, b)]
        rows.append({"reference": _join(questions[name]), "a": answers[0], "b": answers[1]})
    columns = [Column("reference", "Reference"), Column("a", "A"), Column("b", "B")]
    return Grid(f"{_join(share.clip)}: {share.total:+z.2f} of {whole} ({parts})", columns, rows)


def better_of(row: ComparisonRow) -> str:
    """Return the system that the interval speaks for: A, B or neither; a dash without draws."""
    return UNKNOWN if isnan(row.difference.low) else SIDES[row.side]


def _mark(words: list[tuple[str, bool]]) -> str:
    """Return words as a text, those that differ in brackets."""
    marked = []
    for differs, run in groupby(words, key=lambda word: word[1]):
        text = " ".join(word for word, _ in run)
        marked.append(f"[{text}]" if differs else text)
    return " ".join(marked)


def _join(text: str) -> str:
    """Return text of a run in one line."""
    return " ".join(text.split())
