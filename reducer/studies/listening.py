"""Compare the answers of systems that get the audio, the transcript, silence or another clip: did they listen?

All runs of a system are scored on the same items, and all intervals of a category come from the same draws of clusters.
A difference is tested by permutations: on each cluster, chance decides which run is which.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.metrics.measure import Category
from speechiq.reducer.runs.conditions import CLIPS, compare_systems
from speechiq.reducer.runs.results_file import name_under
from speechiq.reducer.runs.systems import System, read_systems_of
from speechiq.reducer.scores.bootstrap import estimate_means
from speechiq.reducer.scores.comparability import NOTHING_SHARED, align_runs, require_equal, restrict_runs
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.stats.bootstrap import describe_samples, estimate_share
from speechiq.reducer.stats.contrast import contrast
from speechiq.reducer.stats.estimate import UNDEFINED, Estimate
from speechiq.reducer.stats.grid import (
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
#: Variant -> key of its difference from the score with the audio.
DIFFERENCES = {TEXT: "speech_gap", MUTED: "gain_over_muted", SWAPPED: "gain_over_swapped"}
RIGHT = "Right blind"
#: Variant -> what replaces the audio, in sentences.
INSTEAD = {MUTED: "silence", SWAPPED: "another clip"}
MEANINGS = (
    "speech gap: the score with the transcript minus that with the audio; gain: with the audio minus without; p: of no "
    "difference, by a paired permutation test",
    "right blind: % of the items that have the best score in every run without their audio",
)


def study_listening(found: Found, draws: int, seed: int = 0) -> StudyResult:
    """Compare each system with its runs of variants in each category: a grid per category, a row per system."""
    paired = [pair for suite in found.levels for pair in _pair_runs(found, suite)]
    if not paired:
        raise SpeechIQError(f"no run with {LISTEN}=", fix=FIX)
    grids: list[Grid] = []
    records: list[dict[str, Any]] = []
    for category, systems in paired:
        rows = [compare_listening(name, category, runs, draws, seed) for name, runs in systems.items()]
        grids.append(_as_grid(category, rows))
        records += rows
    return StudyResult(
        "speechiq-listen",
        grids,
        {"systems": records},
        records,
        [describe_samples(draws, seed, name_units(record[AUDIO] for record in records))] if draws else [],
        [*found.all_tasks, *chain.from_iterable(found.variants.values())],
    )


def _pair_runs(found: Found, suite: str) -> Iterator[tuple[Category, dict[str, dict[str, System]]]]:
    """Yield each category of a suite with system -> variant -> its run, for systems with a run of a variant."""
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
        paired: dict[str, dict[str, System]] = {}
        for name, runs in systems.items():
            of_level = restrict_runs(runs, level)
            if of_level.keys() <= {AUDIO}:
                continue
            if AUDIO not in of_level:
                raise SpeechIQError(f"system {name!r} has no {level} scores with its audio", fix=FIX)
            paired[name] = of_level
        if paired:
            yield category, paired


def compare_listening(
    system: str, category: Category, runs: Mapping[str, System], draws: int, seed: int
) -> dict[str, Any]:
    """Compare the runs of one system in one category: `audio` and each variant that was run -> the scores.

    A record has the score of each run, as people read it. `speech_gap` is the score with the transcript minus that with
    the audio, and `gain_over_` a variant the score with the audio minus that without, each with its `_p`; what was not
    run is left out. `right_blind` is the share of the items that have the best possible score in every run without the
    audio; it is undefined without such a run, or if the measure has no best score. `items` are those that all runs
    answered, `clips` their clips, and `clusters` the clusters of these.
    """
    differing = [mismatch for mismatch in compare_systems([*runs.values()]) if mismatch.aspect not in (CLIPS, LISTEN)]
    require_equal(differing, shared=NOTHING_SHARED)
    kept, pool = align_runs(runs)
    level, scale = category.name, float(category.show(1.0))
    pairs = {variant: (TEXT, AUDIO) if variant == TEXT else (AUDIO, variant) for variant in runs if variant != AUDIO}
    place = pool.systems.index
    rows = [(place(a), place(b)) for a, b in pairs.values()]
    compared = contrast(pool.raw[level], rows, pool.clips[level], pool.clusters, draws=draws, seed=seed)
    scores = dict(zip(pool.systems, estimate_means(pool, level, compared.means, seed), strict=True))
    tested = dict(zip(pairs, compared.differences, strict=True))
    differences: dict[str, Any] = {}
    for variant, name in DIFFERENCES.items():
        if variant in tested:
            difference = tested[variant].map(scale)
            differences |= {name: difference.estimate, f"{name}_p": difference.p}
    return {
        "suite": category.suite,
        "category": level,
        "unit": category.unit,
        "direction": category.measure.direction,
        "system": system,
        "items": len(kept[0].scores[level]),
        "clips": len(pool.clips[level]),
        "clusters": pool.count_clusters(level),
        **{variant: scores[variant].map(scale) for variant in HEADINGS if variant in scores},
        **differences,
        "right_blind": _count_right(kept, category, pool.clusters),
    }


def _count_right(runs: list[System], category: Category, clusters: Mapping[str, str]) -> Estimate:
    """Return the share of items that have the best score in every run without audio."""
    blind = [run.scores[category.name] for run in runs if run.name in BLIND]
    if not blind or not category.measure.is_bounded:
        return UNDEFINED
    best = category.measure.raw_range[1]
    values = np.array([[*map(scores.__getitem__, blind[0])] for scores in blind])
    right = (values >= best).all(axis=0).astype(float)
    return estimate_share(right, np.ones(len(right)), [clip for clip, *_ in blind[0]], clusters).map(100.0)


def needs_audio(record: Mapping[str, Any]) -> bool | None:
    """Return whether the score falls without the audio in every such run (p below 0.05); None without such a run."""
    gains = [DIFFERENCES[variant] for variant in _list_blind(record)]
    if not gains or any(math.isnan(record[f"{gain}_p"]) for gain in gains):
        return None
    sign = 1 if record["direction"] == "higher" else -1
    return all(record[gain].value * sign > 0 and record[f"{gain}_p"] < 0.05 for gain in gains)


def _list_blind(record: Mapping[str, Any]) -> list[str]:
    """Return the variants without the audio that were run."""
    return [variant for variant in BLIND if variant in record]


def _as_grid(category: Category, records: Sequence[dict[str, Any]]) -> Grid:
    columns = [Column("system", "System")]
    for variant, (heading, difference) in HEADINGS.items():
        if any(variant in record for record in records):
            columns.append(Column(variant, heading, ".1f"))
            if difference:
                columns.append(Column(DIFFERENCES[variant], difference, "+.1f", below=variant))
                columns.append(Column(f"{DIFFERENCES[variant]}_p", "p", ".4f", below=variant))
    if any(map(_list_blind, records)):
        columns.append(Column("right", f"{RIGHT}\n%", ".1f"))
    notes: list[str] = [Important(line) for record in records if (line := describe_listening(record))]
    chance = category.measure.shown_chance
    if chance is not None:
        notes.append(f"{title(category.name)}: guessing scores {chance:g} {category.unit}")
    first = records[0]
    notes += [f"{count_of(first['items'], 'item')} of {count_units(first['clips'], first['clusters'])}", *MEANINGS]
    suite = "" if category.suite == SIQ else f" of suite {category.suite}"
    heading = f"Did they listen? {title(category.name)}{suite}: {category.unit}"
    rows = [record | {"right": record["right_blind"]} if _list_blind(record) else record for record in records]
    return Grid(heading, columns, rows, notes)


def describe_listening(record: Mapping[str, Any]) -> str:
    """Return in words whether a system needs the audio; empty without a run without it."""
    needs = needs_audio(record)
    if needs is None:
        return ""
    parts = []
    for variant in _list_blind(record):
        gain = DIFFERENCES[variant]
        parts.append(f"{record[gain].value:+.1f} over {INSTEAD[variant]} (p {record[f'{gain}_p']:.4f})")
    system = record["system"]
    verdict = f"the audio is needed by {system}" if needs else f"no evidence that {system} needs the audio"
    return f"{verdict}: {', '.join(parts)}"
