"""Show scores as people read them: a table with a caption, and narrow tables for narrow terminals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from speechiq.core.console import count_of, printable
from speechiq.core.files.checksummed import shorten
from speechiq.reducer.runs.choice import others_than_usual
from speechiq.reducer.runs.conditions import ASPECTS, summarize
from speechiq.reducer.runs.measure import Measure
from speechiq.reducer.scores.ranking import NO_CONTEXT, Context
from speechiq.reducer.scores.scale import Scores
from speechiq.reducer.tables.records import rows_of

FLAGS = {
    "unparsed": ("No letter", "answers without a letter"),
    "none_of_the_above": ("(E)", "questions answered with (E)"),
    "incomplete_audio": ("Incomplete", "clips with incomplete audio"),
    "repetition": ("Repetition", "transcripts that repeat one phrase many times"),
}
UNKNOWN = "\N{EM DASH}"
MISMATCH = "\N{NOT EQUAL TO}"
SYSTEM = "System"
TITLE = "Speech IQ"
TITLE_WITHOUT = "Levels, without Speech IQ"


def as_table(scores: Scores, context: Context = NO_CONTEXT, title: str | None = None) -> Table:
    """Return the ranking as a table: raw scores in per cent over Z in standard deviations, SIQ over its 95 % interval.

    The Remember column is an error rate, so lower is better there. Without SIQ the columns of SIQ and of ranks are left
    out. A flag has a column unless all systems have 0, or no run recorded it; the caption names those flags. Names are
    plain text, never markup.

    Args:
        scores: Scores to show.
        context: Context of the scores.
        title: Data set, if the table is about one.
    """
    rows = rows_of(scores, context)
    table = _table(rows, context, title, shown_flags(rows))
    table.caption = Text("\n".join(caption(scores, context)))
    return table


def rows_as_table(rows: Sequence[dict[str, Any]], context: Context, title: str, lines: Iterable[str]) -> Table:
    """Return a table of rows that are means of other tables' rows.

    Args:
        rows: As `records.rows_of` makes them.
        context: Context of the tables that are averaged.
        title: Name of what the means are over.
        lines: Lines of the caption.
    """
    table = _table(rows, context, title, shown_flags(rows))
    table.caption = Text("\n".join(lines))
    return table


def print_table(console: Console, table: Table) -> None:
    """Print a table so that no name and no number is broken, however narrow the console is.

    A table that is too wide is printed as several, first the scores and then the flags, with numbers in brackets
    instead of the systems; the names follow, one per line. Captions break between words only.
    """
    caption, table.caption = table.caption, None
    if fits(console, table):
        console.print(table)
    else:
        (names,) = (column for column in table.columns if column.header == SYSTEM)
        flags = [column for column in table.columns if str(column.header).endswith("\n%")]
        scored = [column for column in table.columns if column not in (names, *flags)]
        for part in (*_share_out(console, table, scored), *_share_out(console, table, flags)):
            console.print(_keyed(table, part))
        for number, name in enumerate(names.cells, 1):
            print_unbroken(console, f"[{number}] {str(name).replace(chr(10), ', ')}")
    print_unbroken(console, str(caption), style="dim italic")
    table.caption = caption


def fits(console: Console, table: Table) -> bool:
    """Return whether a console shows a table without breaking a cell."""
    return Measurement.get(console, console.options.update(max_width=10_000), table).maximum <= console.width


def print_unbroken(console: Console, text: str, style: str = "") -> None:
    """Print text that breaks between words only; a word that is longer than the line stays whole."""
    for line in text.split("\n"):
        whole = fill(printable(line), console.width, break_long_words=False, break_on_hyphens=False)
        console.print(Text(whole, style=style), overflow="ignore", crop=False, highlight=False)


def show_share(share: float | None) -> str:
    """Return a flag's cell, in per cent.

    >>> show_share(0.125), show_share(None)
    ('12.5', '—')
    """
    return UNKNOWN if share is None else f"{100 * share:.1f}"


def caption(scores: Scores, context: Context) -> Iterable[str]:
    """Yield the lines below the table: scale, mismatches, size of the levels, and meaning of the columns."""
    remarks, levels, rows = context.remarks, context.levels, rows_of(scores, context)
    weights = ", ".join(f"{level.title()} {of.weight:.3f}" for level, of in scores.scale.levels.items())
    yield count_of(len(scores.systems), "system") + f"; level weights ({scores.scale.rule}): {weights}" * (
        not remarks.no_siq
    )
    if norms := context.norms:
        yield (
            f"on the scale of norms {norms.name!r} ({shorten(norms.sha256)}) of "
            f"{count_of(len(norms.systems), 'system')}: {_match(context)}"
        )
    if context.mismatches:
        yield f"{MISMATCH} not asked the same, scored on shared items: {summarize(context.mismatches)}"
    if context.excluded:
        which = shorten(context.excluded_set or "")
        yield f"left out of Apply: {count_of(context.excluded, 'question')} of the unanswerable set {which}".rstrip()
    yield from remarks.lines(levels)
    if bootstrap := context.bootstrap:
        left_out = f", {bootstrap.left_out} of them left out: no clip in them separates the systems"
        yield (
            f"intervals from {bootstrap.draws} draws of clips, seed {bootstrap.seed}"
            + left_out * bool(bootstrap.left_out)
        )
        yield from filter(None, [bootstrap.caution])
        if any(row["siq_interval"] and row["siq_interval"][0] == row["siq_interval"][1] for row in rows):
            yield "an interval of zero width means nothing: too few clips separate the systems"
    if others := others_than_usual(levels):
        yield f"measures: {', '.join(f'{level}={metric}' for level, metric in others.items())}"
    for level, of in levels.items():
        if of.measure.chance is not None and level in scores.levels:
            yield f"{level.title()} by chance: {100 * of.measure.chance:.0f} %"
    yield from flag_lines(rows, recorded=bool(context.systems))


def flag_lines(rows: Sequence[dict[str, Any]], recorded: bool = True) -> Iterable[str]:
    """Yield the meanings of the columns of flags, and which flags have no column.

    Args:
        rows: One dict per system, with `flags`.
        recorded: Whether the flags are those of runs.
    """
    shown = shown_flags(rows)
    for flag in shown:
        yield f"{FLAGS[flag][0]}: {FLAGS[flag][1]}"
    if recorded:
        rest = {flag: meaning for flag, (_, meaning) in FLAGS.items() if flag not in shown}
        for value, words in ((0, "none"), (None, "not recorded")):
            if named := [meaning for flag, meaning in rest.items() if rows[0]["flags"][flag] == value]:
                yield f"{words}: {', '.join(named)}"


def _table(rows: Sequence[dict[str, Any]], context: Context, title: str | None, flags: Sequence[str]) -> Table:
    with_siq = any(row["siq"] is not None for row in rows)
    with_interval = any(row["siq_interval"] for row in rows)
    with_z = any(of["z"] is not None for row in rows for of in row["levels"].values())
    table = Table(
        title=": ".join([TITLE if with_siq else TITLE_WITHOUT, *filter(None, [title])]),
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
    )
    if with_siq:
        table.add_column("Rank", justify="right", no_wrap=True)
    table.add_column(SYSTEM, overflow="fold")
    for level in rows[0]["levels"]:
        below = "\nZ" * with_z + "\n95 % interval" * (not with_siq and bool(context.bootstrap))
        unit = context.levels[level].unit
        table.add_column(f"{level.title()}\n{unit}{below}", justify="right", no_wrap=True)
    if with_siq:
        heading = "SIQ" + "\n95 % interval" * with_interval
        table.add_column(heading, justify="right", no_wrap=True, style="bold")
    for flag in flags:
        table.add_column(f"{FLAGS[flag][0]}\n%", justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            *[UNKNOWN if row["rank"] is None else str(row["rank"])] * with_siq,
            Text("\n".join([row["system"], *[f"control: {row['control']}"] * bool(row["control"])])),
            *(
                "\n".join(_level(context.levels[level].measure, of, not with_siq))
                for level, of in row["levels"].items()
            ),
            *["\n".join(_siq(row))] * with_siq,
            *(show_share(row["flags"][flag]) for flag in flags),
        )
    return table


def _share_out(console: Console, table: Table, columns: Iterable[Column]) -> list[list[Column]]:
    """Return columns in parts, each as many as a console shows side by side, and at least one."""
    parts: list[list[Column]] = []
    for column in columns:
        if parts and fits(console, _keyed(table, [*parts[-1], column])):
            parts[-1].append(column)
        else:
            parts.append([column])
    return parts


def _keyed(table: Table, columns: Sequence[Column]) -> Table:
    """Return some columns of a table, with numbers in brackets instead of the names."""
    part = Table(title=table.title, box=table.box, padding=table.padding)
    part.add_column("", no_wrap=True)
    for column in columns:
        part.add_column(column.header, justify=column.justify, no_wrap=True, style=column.style)
    for number, cells in enumerate(zip(*(column.cells for column in columns), strict=True), 1):
        part.add_row(Text(f"[{number}]"), *cells)
    return part


def shown_flags(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the flags that at least one run recorded and that are not 0 for all systems."""
    return [flag for flag in FLAGS if {row["flags"][flag] for row in rows} not in ({0}, {None})]


def _level(measure: Measure, of: dict[str, Any], with_interval: bool) -> Iterable[str]:
    yield f"{measure.show_score(of['score']):z.2f}"
    if of["z"] is not None:
        yield f"{of['z']:+z.2f}"
    if with_interval and of["interval"]:
        low, high = (measure.show_score(end) for end in of["interval"])
        yield f"{low:z.1f} to {high:z.1f}"


def _siq(row: dict[str, Any]) -> Iterable[str]:
    mark = f" {MISMATCH}" * bool(row["mismatches"])
    yield (UNKNOWN if row["siq"] is None else f"{row['siq']:.2f}") + mark
    if row["siq_interval"]:
        yield "{:.1f} to {:.1f}".format(*row["siq_interval"])


def _match(context: Context) -> str:
    differ = {of.aspect for of in context.mismatches}
    parts = {"match": [of for of in ASPECTS if of not in differ], "DIFFER": [of for of in ASPECTS if of in differ]}
    return "; ".join(f"{', '.join(aspects)} {word}" for word, aspects in parts.items() if aspects)
