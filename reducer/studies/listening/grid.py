"""Show whether systems listen: a grid per category, a verdict in words, and records for files."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from speechiq.core.console import count_of
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.stats.coverage import caution_lines, caution_of_raw, count_units
from speechiq.reducer.stats.estimate import Difference
from speechiq.reducer.stats.grid import INTERVAL, Cell, Column, Grid, Important
from speechiq.reducer.studies.listening.study import AUDIO, Listening, needs_audio
from speechiq.siq_tasks.conditions.variants import MUTED, SWAPPED, TEXT

#: Variant -> heading of its score, and of the difference below it.
HEADINGS = {
    AUDIO: ("Audio", ""),
    TEXT: ("Transcript", "speech gap"),
    MUTED: ("Silence", "gain"),
    SWAPPED: ("Other clip", "gain"),
}
RIGHT = "Right blind"
#: Variant -> what replaces the audio, in sentences.
INSTEAD = {MUTED: "silence", SWAPPED: "another clip"}
MEANINGS = (
    "speech gap: the score with the transcript minus that with the audio; gain: with the audio minus without; p: of no "
    "difference, by a paired permutation test",
    "right blind: % of the items that have the best score in every run without their audio",
)


def as_grids(rows: Sequence[Listening], draws: int) -> list[Grid]:
    """Return a grid per suite and category, with a row per system; its notes say what the numbers mean."""
    groups = groupby(rows, key=lambda row: (row.category.suite, row.category.name))
    return [_as_grid(list(group), draws) for _, group in groups]


def _as_grid(rows: Sequence[Listening], draws: int) -> Grid:
    category, bars = rows[0].category, f"\n{INTERVAL}" * bool(draws)
    columns = [Column("system", "System")]
    for variant, (heading, difference) in HEADINGS.items():
        if any(variant in row.scores for row in rows):
            columns.append(Column(variant, heading + bars, ".1f"))
            if difference:
                columns.append(Column(f"{variant} difference", difference + bars, "+.1f", below=variant))
                columns.append(Column(f"{variant} p", "p", ".4f", below=variant))
    if any(row.gains for row in rows):
        columns.append(Column("right", f"{RIGHT}\n%" + bars, ".1f"))
    notes: list[str] = [Important(line) for row in rows if (line := describe(row))]
    fewest = min(rows, key=lambda row: row.clusters)
    notes += caution_lines(caution_of_raw(fewest.clips, fewest.clusters) if draws else None)
    chance = category.measure.shown_chance
    notes += [f"{title(category.name)}: guessing scores {chance:g} {category.unit}"] * (chance is not None)
    notes += [f"{count_of(rows[0].items, 'item')} of {count_units(rows[0].clips, rows[0].clusters)}", *MEANINGS]
    suite = f" of suite {category.suite}" * (category.suite != SIQ)
    heading = f"Did they listen? {title(category.name)}{suite}: {category.unit}"
    return Grid(heading, columns, [_as_row(row) for row in rows], notes)


def _as_row(row: Listening) -> dict[str, Cell]:
    cells: dict[str, Cell] = {"system": row.system, **row.scores}
    for variant, difference in _list_differences(row):
        cells |= {f"{variant} difference": difference.estimate, f"{variant} p": difference.p}
    return cells | {"right": row.right_blind} if row.gains else cells


def _list_differences(row: Listening) -> Iterator[tuple[str, Difference]]:
    if row.gap:
        yield TEXT, row.gap
    yield from row.gains.items()


def describe(row: Listening) -> str:
    """Return in words whether a system needs the audio; empty without a run without it."""
    needs = needs_audio(row)
    if needs is None:
        return ""
    parts = (f"{gain.value:+.1f} over {INSTEAD[variant]} (p {gain.p:.4f})" for variant, gain in row.gains.items())
    verdict = f"the audio is needed by {row.system}" if needs else f"no evidence that {row.system} needs the audio"
    return f"{verdict}: {', '.join(parts)}"


def as_records(rows: Sequence[Listening]) -> Iterator[dict[str, Any]]:
    """Yield a record per system and category; what was not run is left out."""
    for row in rows:
        differences: dict[str, Any] = {}
        for variant, difference in _list_differences(row):
            name = "speech_gap" if variant == TEXT else f"gain_over_{variant}"
            differences |= {name: difference.estimate, f"{name}_p": difference.p}
        yield {
            "suite": row.category.suite,
            "category": row.category.name,
            "unit": row.category.unit,
            "direction": row.category.measure.direction,
            "system": row.system,
            "items": row.items,
            "clips": row.clips,
            "clusters": row.clusters,
            **row.scores,
            **differences,
            "right_blind": row.right_blind,
        }
