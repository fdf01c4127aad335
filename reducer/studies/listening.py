"""Compare the answers of systems that get the audio, the transcript, silence or another clip: did they listen?

All runs of a system are scored on the same items, and all intervals of a category come from the same draws of clusters.
A difference is tested by permutations: on each cluster, chance decides which run is which.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.conditions import CLIPS, compare_systems
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.results_file import name_under
from speechiq.reducer.runs.systems import System, read_systems_of
from speechiq.reducer.scores.bootstrap import estimate_means
from speechiq.reducer.scores.comparability import NOTHING_SHARED, align_runs, require_equal, restrict_runs
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.stats.bootstrap import describe_samples, estimate_share
from speechiq.reducer.stats.contrast import contrast
from speechiq.reducer.stats.estimate import UNDEFINED, Difference, Estimate
from speechiq.reducer.stats.grid import (
    Cell,
    Column,
    Grid,
    Important,
    count_units,
    name_units,
)
from speechiq.reducer.studies.result import StudyResult
from speechiq.siq_tasks.conditions.spec import LISTEN, MUTED, SWAPPED, TEXT

#: The run that gets the audio, beside the variants.
AUDIO = "audio"
BLIND = (MUTED, SWAPPED)
FIX = "run the same tasks with and without --metadata listen=muted, into the same folder"
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


class Listening(NamedTuple):
    """Hold how a system answers the questions of a category with its audio and without.

    Attributes:
        system: Name of the system alone.
        scores: `audio` and the variants that were run -> the score, as people read it.
        gap: The speech gap: the score with the transcript minus that with the audio; None without a run with `text`.
        gains: `muted` and `swapped`, as far as they were run -> the score with the audio minus that without.
        right_blind: Share of the items that have the best possible score in every run without the audio; undefined
            without such a run, or if the measure has no best score.
        items, clips, clusters: Numbers of items that all runs answered, of their clips, and of the clusters of these.
    """

    system: str
    category: Category
    scores: dict[str, Estimate]
    gap: Difference | None
    gains: dict[str, Difference]
    right_blind: Estimate
    items: int
    clips: int
    clusters: int


def study_listening(found: Found, draws: int, seed: int = 0) -> StudyResult:
    """Compare each system with its runs of variants in each category: a grid per category, a row per system."""
    runs = [run for suite in found.levels for run in _pair_runs(found, suite)]
    if not runs:
        raise SpeechIQError(f"no run with {LISTEN}=", fix=FIX)
    rows = [compare_listening(*run, draws, seed) for run in runs]
    records = list(map(_as_record, rows))
    categories = groupby(rows, key=lambda row: (row.category.suite, row.category.name))
    return StudyResult(
        "speechiq-listen",
        [_as_grid(list(of_category)) for _, of_category in categories],
        {"systems": records},
        records,
        [describe_samples(draws, seed, name_units(rows))] if draws else [],
        [*found.all_tasks, *chain.from_iterable(found.variants.values())],
        details=rows,
    )


def _pair_runs(found: Found, suite: str) -> Iterator[tuple[str, Category, dict[str, System]]]:
    """Yield each system and category of a suite with its runs by variant, if there is a run of a variant."""
    tasks = [*found.tasks[suite], *found.variants.get(suite, ())]
    asked = {task.level for task in tasks if task.metadata.get(LISTEN)}
    levels = {name: category for name, category in found.levels[suite].items() if name in asked}
    systems: dict[str, dict[str, System]] = {}
    for system in read_systems_of([task for task in tasks if task.level in levels], levels):
        metadata = system.tasks[0].metadata
        alone = system.name.removesuffix(name_under("", metadata))
        name = name_under(alone, {key: value for key, value in metadata.items() if key != LISTEN})
        systems.setdefault(name, {})[str(metadata.get(LISTEN) or AUDIO)] = system
    for level, category in levels.items():
        for name, runs in systems.items():
            of_level = restrict_runs(runs, level)
            if of_level.keys() <= {AUDIO}:
                continue
            if AUDIO not in of_level:
                raise SpeechIQError(f"system {name!r} has no {level} scores with its audio", fix=FIX)
            yield name, category, of_level


def compare_listening(system: str, category: Category, runs: Mapping[str, System], draws: int, seed: int) -> Listening:
    """Compare the runs of one system in one category: `audio` and each variant that was run -> the scores."""
    differing = [mismatch for mismatch in compare_systems([*runs.values()]) if mismatch.aspect not in (CLIPS, LISTEN)]
    require_equal(differing, shared=NOTHING_SHARED)
    kept, pool = align_runs(runs)
    scale = float(category.show(1.0))
    pairs = {variant: (TEXT, AUDIO) if variant == TEXT else (AUDIO, variant) for variant in runs if variant != AUDIO}
    place = pool.systems.index
    rows = [(place(a), place(b)) for a, b in pairs.values()]
    compared = contrast(pool.raw[category.name], rows, pool.clips[category.name], pool.clusters, draws=draws, seed=seed)
    scores = dict(zip(pool.systems, estimate_means(pool, category.name, compared.means), strict=True))
    tested = dict(zip(pairs, (difference.map(scale) for difference in compared.differences), strict=True))
    return Listening(
        system,
        category,
        {variant: scores[variant].map(scale) for variant in (AUDIO, TEXT, *BLIND) if variant in scores},
        tested.get(TEXT),
        {variant: tested[variant] for variant in BLIND if variant in tested},
        _count_right(kept, category, pool.clusters),
        len(kept[0].scores[category.name]),
        len(pool.clips[category.name]),
        pool.count_clusters(category.name),
    )


def _count_right(runs: list[System], category: Category, clusters: Mapping[str, str]) -> Estimate:
    """Return the share of items that have the best score in every run without audio."""
    blind = [run.scores[category.name] for run in runs if run.name in BLIND]
    if not blind or not category.measure.is_bounded:
        return UNDEFINED
    best = category.measure.raw_range[1]
    values = np.array([[*map(scores.__getitem__, blind[0])] for scores in blind])
    right = (values >= best).all(axis=0).astype(float)
    return estimate_share(right, np.ones(len(right)), [clip for clip, *_ in blind[0]], clusters).map(100.0)


def needs_audio(listening: Listening) -> bool | None:
    """Return whether the score falls without the audio in every such run (p below 0.05); None without such a run."""
    gains = listening.gains.values()
    if not gains or any(math.isnan(gain.p) for gain in gains):
        return None
    return all(gain.value * listening.category.measure.sign > 0 and gain.p < 0.05 for gain in gains)


def _as_grid(rows: Sequence[Listening]) -> Grid:
    category = rows[0].category
    columns = [Column("system", "System")]
    for variant, (heading, difference) in HEADINGS.items():
        if any(variant in row.scores for row in rows):
            columns.append(Column(variant, heading, ".1f"))
            if difference:
                columns.append(Column(f"{variant} difference", difference, "+.1f", below=variant))
                columns.append(Column(f"{variant} p", "p", ".4f", below=variant))
    if any(row.gains for row in rows):
        columns.append(Column("right", f"{RIGHT}\n%", ".1f"))
    notes: list[str] = [Important(line) for row in rows if (line := describe_listening(row))]
    chance = category.measure.shown_chance
    if chance is not None:
        notes.append(f"{title(category.name)}: guessing scores {chance:g} {category.unit}")
    notes += [f"{count_of(rows[0].items, 'item')} of {count_units(rows[0].clips, rows[0].clusters)}", *MEANINGS]
    suite = "" if category.suite == SIQ else f" of suite {category.suite}"
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


def describe_listening(row: Listening) -> str:
    """Return in words whether a system needs the audio; empty without a run without it."""
    needs = needs_audio(row)
    if needs is None:
        return ""
    parts = (f"{gain.value:+.1f} over {INSTEAD[variant]} (p {gain.p:.4f})" for variant, gain in row.gains.items())
    verdict = f"the audio is needed by {row.system}" if needs else f"no evidence that {row.system} needs the audio"
    return f"{verdict}: {', '.join(parts)}"


def _as_record(row: Listening) -> dict[str, Any]:
    """Return the record of a system and category; what was not run is left out."""
    differences: dict[str, Any] = {}
    for variant, difference in _list_differences(row):
        name = "speech_gap" if variant == TEXT else f"gain_over_{variant}"
        differences |= {name: difference.estimate, f"{name}_p": difference.p}
    return {
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
