"""Find two systems and compare them: by the categories of a suite, by Z and SIQ, or by any metrics of their rows.

A system is named by its folder or file, or by a part of its name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import count_of, printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import shorten
from speechiq.core.files.plain import exists
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.conditions import Mismatch, compare_systems, summarize
from speechiq.reducer.runs.judged import name_judges
from speechiq.reducer.runs.measure import Category, Measure
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import SampleTable, join_columns, read_sample_table
from speechiq.reducer.runs.systems import Flags, System
from speechiq.reducer.runs.table import Item
from speechiq.reducer.runs.texts import can_pool, read_lengths
from speechiq.reducer.scores import comparability
from speechiq.reducer.scores.comparability import complete, intersect
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.remarks import Remarks, observe, remark, title
from speechiq.reducer.scores.scale import PAPER
from speechiq.reducer.scores.score_matrix import align
from speechiq.reducer.scores.suites import Found, ScoringOptions
from speechiq.reducer.stats.bootstrap import describe_samples
from speechiq.reducer.stats.contrast import contrast
from speechiq.reducer.stats.grid import Important, caution_lines, caution_of_raw
from speechiq.reducer.studies import unanswerable
from speechiq.reducer.studies.comparison import (
    NO_SCALE,
    SIQ,
    Comparison,
    UndefinedItems,
    compare_scores,
    comparison_content,
    order_shares,
    spread_of,
)

ADVICE_NAME = "siq compare NAME_A NAME_B RUNS"
PARTS = (
    "clips: each category's difference is divided by the standard deviation of its scores, over clips and both "
    "systems, since units may differ"
)
UNIT = "standard deviations, mean of the categories"
#: The name in the place of a suite in files.
METRICS = "metrics"


class SystemPair(NamedTuple):
    """Hold two systems of one suite.

    Attributes:
        others: Further systems, which can set a scale.
        asked: Names of the scores that must agree for a system to be better; None means all.
    """

    suite: str
    a: System
    b: System
    others: Sequence[System]
    categories: Mapping[str, Category]
    asked: Collection[str] | None

    @property
    def both(self) -> tuple[System, System]:
        """Return A and B."""
        return self.a, self.b


class SelectedRuns(NamedTuple):
    """Hold the suites of some runs, and the systems of each suite."""

    found: Found
    systems: dict[str, list[System]]

    @property
    def names(self) -> list[str]:
        """Return the names of all systems."""
        return sorted({system.name for systems in self.systems.values() for system in systems})

    @property
    def by_suite(self) -> dict[str, System]:
        """Return suite -> its only system."""
        return {suite: system for suite, (system,) in self.systems.items()}

    def only(self, name: str) -> SelectedRuns:
        """Return the suites that the system with a name ran, with this system alone."""
        own: dict[str, list[System]] = {}
        for suite, systems in self.systems.items():
            if named := [system for system in systems if system.name == name]:
                own[suite] = named
        return self._replace(systems=own)


def choose_system(
    place: str, named: SelectedRuns | None, find: Callable[[Sequence[Path]], SelectedRuns]
) -> SelectedRuns:
    """Hold the only system of a folder or file, or the only system of the runs `named` with `place` in its name."""
    if exists(place):
        held = find([Path(place)])
        if len(held.names) > 1:
            shown = ", ".join(map(repr, held.names))
            raise SpeechIQError(
                f"{place!r} has {count_of(len(held.names), 'system')} ({shown})", fix=f"name one: {ADVICE_NAME}"
            )
        return held
    if named is None:
        raise SpeechIQError(
            f"{place!r} is not a folder or file", fix=f"to find a system by name, give runs: {ADVICE_NAME}"
        )
    return named.only(match_name(place, named.names))


def match_name(part: str, names: Sequence[str]) -> str:
    """Return the only one of some names of systems that is `part` or has it in it."""
    matching = [name for name in names if name == part] or [name for name in names if part in name]
    if len(matching) != 1:
        which = f"is part of {len(matching)} names" if matching else "is in no system's name"
        near = "" if matching else did_you_mean(part, {stage for name in names for stage in re.split(r"[+:]", name)})
        raise SpeechIQError(
            f"{part!r} {which}", f"{near}write enough of one of {', '.join(map(repr, matching or names))}"
        )
    return matching[0]


def pair_up(
    chosen_a: SelectedRuns,
    chosen_b: SelectedRuns,
    named: SelectedRuns | None,
    asked: Collection[str] | None,
    places: tuple[str, str],
) -> Iterator[SystemPair]:
    """Yield systems A and B for each suite that both ran; of several suites, those with a name in `asked`.

    Args:
        named: Runs whose further systems can set a scale.
        asked: Suites and categories that must agree; None means all.
        places: A and B as the user wrote them.
    """
    shared = {suite: chosen_a.found.levels[suite] for suite in chosen_a.by_suite if suite in chosen_b.by_suite}
    if not shared:
        raise SpeechIQError(
            f"A ran suite {', '.join(chosen_a.by_suite)} and B ran {', '.join(chosen_b.by_suite)}",
            "give runs of the same suite",
        )
    names = {suite: {suite, *categories} for suite, categories in shared.items()}
    wanted = [suite for suite in shared if asked is None or names[suite].intersection(asked)]
    for suite in wanted or shared:
        a, b = _distinct_names(chosen_a.by_suite[suite], chosen_b.by_suite[suite], places)
        pool = named.systems.get(suite, []) if named else []
        others = [system for system in pool if system.tasks not in (a.tasks, b.tasks)]
        yield SystemPair(
            suite, a, b, others, shared[suite], None if asked is None else _names_of_suite(asked, suite, shared)
        )


def _names_of_suite(asked: Collection[str], suite: str, shared: Mapping[str, Mapping[str, Category]]) -> list[str]:
    """Return the names of `asked` for one suite: all but those that only other suites have."""
    elsewhere = {name for other, categories in shared.items() if other != suite for name in (other, *categories)}
    return [name for name in asked if name in (suite, *shared[suite]) or name not in elsewhere]


def _list_sources(system: System) -> set[tuple[str, str]]:
    """Return the results file and the name of each task."""
    return {(os.path.realpath(task.results), task.task) for task in system.tasks}


def _distinct_names(a: System, b: System, places: tuple[str, str]) -> tuple[System, System]:
    """Add folders to the names of two runs of one system, or refuse the same run given twice."""
    if _list_sources(a) == _list_sources(b):
        raise SpeechIQError(f"A and B are one run of system {a.name!r}", "give two systems, or two runs of one")
    if a.name != b.name:
        return a, b
    place_a, place_b = map(printable, places)
    return a.replace(name=f"{a.name} ({place_a})"), b.replace(name=f"{b.name} ({place_b})")


class Compared(NamedTuple):
    """Hold the comparison of two systems, ready to show and write.

    Attributes:
        warnings: Possible mistakes of the user, one line each.
        unit: Unit of the clips' parts in the difference.
        texts: Tasks of A and of B whose rows have the texts to show.
    """

    comparison: Comparison
    flags: list[Flags]
    notes: list[str]
    content: dict[str, Any]
    warnings: list[str]
    unit: str
    texts: list[list[TaskRun]]


def compare_pair(pair: SystemPair, options: ScoringOptions) -> Compared:
    """Compare two systems of one suite."""
    has_scale = is_siq(pair.suite)
    norms = options.norms if has_scale else None
    asked = None if not has_scale and pair.suite in (pair.asked or ()) else pair.asked
    pool = pair.others if has_scale and not norms else ()
    systems = list({system.name: system for system in (*pool, *pair.both)}.values())
    if has_scale and options.rule != PAPER and not norms and len(systems) < 3:
        raise SpeechIQError(f"weights {options.rule.label}", f"they have no effect here: {NO_SCALE}")
    if has_scale:
        systems = unanswerable.leave_out(systems, options.exclude)
    kept, mismatches = intersect(_restrict(systems, pair, asked), options.allow_mismatch, norms)
    by_name = {system.name: system for system in kept}
    a, b = (by_name[system.name] for system in pair.both)
    undefined = _count_undefined(a, b)
    if undefined:
        kept = complete(kept)
    matrix = align(kept)
    in_order = sorted(kept, key=lambda system: system.name)
    remarks = remark(matrix, in_order, norms) if has_scale else observe(matrix, in_order)
    comparison = compare_scores(
        matrix,
        a.name,
        b.name,
        scale=norms.scale_of(matrix.clips) if norms else None,
        rule=options.rule,
        asked=asked,
        draws=options.draws,
        seed=options.seed,
        raw_only=None if has_scale else f"suite {pair.suite}: each category is compared by itself",
    )._replace(
        undefined={name: counts._replace(compared=len(kept[0].by_level[name])) for name, counts in undefined.items()},
    )
    caution = comparison.caution if has_scale else None
    if not has_scale and options.draws:
        caution = caution_of_raw(*matrix.smallest)
    own_scale = f"the pool of {len(kept)} systems, {options.rule.label}" if comparison.siq else None
    scale_name = norms.title if norms else own_scale
    content = comparison_content(comparison) | {
        "caution": caution,
        "scale": scale_name,
        "mismatches": [mismatch.text for mismatch in mismatches],
        "excluded": len(options.exclude),
        "excluded_set": options.exclude.sha256,
        "flags": {side: system.flags._asdict() for side, system in zip("ab", (a, b), strict=True)},
        "identical": [list(names) for names in remarks.identical],
    }
    points = "SIQ" if comparison.siq else "points in the mean of the raw scores"
    return Compared(
        comparison=comparison,
        flags=[a.flags, b.flags],
        notes=[*_notes_of_pair(pair, comparison, scale_name, caution, mismatches, options, remarks)],
        content=content,
        warnings=list(remarks.warnings()) if has_scale else [],
        unit=points if has_scale else UNIT,
        texts=[tasks_with_texts(system.tasks) for system in pair.both],
    )


def tasks_with_texts(tasks: Sequence[TaskRun]) -> list[TaskRun]:
    """Return the tasks whose rows have the texts to show; those of Understand repeat the texts of Remember."""
    return [task for task in tasks if not (is_siq(task.suite) and task.level == "understand")]


def _restrict(systems: Sequence[System], pair: SystemPair, asked: Collection[str] | None) -> list[System]:
    """Return the systems with the categories to compare: those that must agree; for SIQ also those that all have."""
    if asked is None or (is_siq(pair.suite) and SIQ in asked):
        return list(systems)
    common = (
        set(pair.categories).intersection(*(system.by_level for system in systems)) if is_siq(pair.suite) else set()
    )
    kept = [name for name in pair.categories if name in asked or name in common]
    return [system.restrict(kept) for system in systems] if kept else list(systems)


def _count_undefined(a: System, b: System) -> dict[str, UndefinedItems]:
    """Return category -> the items without a score, for categories whose measure counts them."""
    return {
        name: UndefinedItems(a.count_undefined(name), b.count_undefined(name), len(a.by_level[name]), 0)
        for name, category in a.levels.items()
        if category.measure.may_be_undefined
    }


def _notes_of_pair(
    pair: SystemPair,
    comparison: Comparison,
    scale_name: str | None,
    caution: str | None,
    mismatches: Sequence[Mismatch],
    options: ScoringOptions,
    remarks: Remarks,
) -> Iterator[str]:
    if mismatches:
        yield Important(f"not on equal terms: {summarize(mismatches)}")
    yield Important(comparison.no_siq) if comparison.no_siq else f"SIQ on the scale of {scale_name}"
    if comparison.siq and remarks.few:
        yield Important(remarks.few)
    if comparison.draws:
        yield from caution_lines(caution)
    yield from describe_undefined(comparison)
    yield from remarks.counted()
    if comparison.draws:
        yield describe_samples(comparison.draws, comparison.seed, comparison.units)
    if comparison.left_out and is_siq(pair.suite):
        yield f"{count_of(comparison.left_out, 'bootstrap sample')} left out, in which no clip separates the systems"
    for name, category in comparison.levels.items():
        if not category.judged:
            continue
        a, b = (name_judges(system.tasks_at(name)) for system in pair.both)
        yield f"{title(name)}: {a if a == b else f'A {a}; B {b}'}"
    if options.exclude:
        which = shorten(options.exclude.sha256 or "")
        yield f"left out of Apply: {count_of(len(options.exclude), 'question')} of the unanswerable set {which}"
    if not is_siq(pair.suite):
        yield PARTS


def describe_undefined(comparison: Comparison) -> Iterator[str]:
    """Yield how many items count, for each category on which items may have no score."""
    for name, counts in comparison.undefined.items():
        word = comparison.levels[name].undefined_word
        shares = f"{counts.compared} of {counts.items} items have a score of both"
        line = f"{title(name)}: {shares}; {word}: A {counts.a}, B {counts.b}"
        yield Important(line) if counts.compared < counts.items else line


def compare_metrics(pairs: Sequence[SystemPair], metrics: Sequence[str], options: ScoringOptions) -> Compared:
    """Compare two systems on metrics that any of their suites has.

    Rates of errors by words or characters are pooled over clips (`texts.can_pool`), all others are means over clips.
    Intervals are percentiles of the draws.

    Args:
        metrics: Columns of the sample rows whose direction is known; those of questions are averaged by clip.
    """
    if not options.allow_mismatch:
        comparability.require_equal([mismatch for pair in pairs for mismatch in compare_systems(pair.both)])
    tasks_a = [task for pair in pairs for task in pair.a.tasks]
    tasks_b = [task for pair in pairs for task in pair.b.tasks]
    tables_a = [read_sample_table(task, columns=task.signs) for task in tasks_a]
    tables_b = [read_sample_table(task, columns=task.signs) for task in tasks_b]
    signs = {name: table.task.signs[name] for table in (*tables_a, *tables_b) for name in table.signed}
    for name in metrics:
        if name not in signs:
            near = did_you_mean(name, signs)
            raise SpeechIQError(
                "--metrics", f"no column {name!r} in these runs", f"{near}choose from {', '.join(signs)}"
            )
    if len(set(metrics)) < len(metrics):
        raise SpeechIQError(f"--metrics {','.join(metrics)}", "a metric is named twice", "name each once")
    values = {name: (_by_clip(tables_a, name), _by_clip(tables_b, name)) for name in metrics}
    clips = sorted(set.intersection(*(set(by_clip) for both in values.values() for by_clip in both)))
    if not clips:
        raise SpeechIQError(f"--metrics {','.join(metrics)}", "the two systems share no clip with all of these")
    rows = [(signs[name], by_clip) for name, both in values.items() for by_clip in both]
    raw = np.array([sign * np.array([*map(by_clip.__getitem__, clips)]) for sign, by_clip in rows])
    raw = raw.reshape(len(values), 2, len(clips))
    weights = np.ones((len(metrics), len(clips)))
    for row, name in enumerate(metrics):
        if can_pool(name):
            lengths = read_lengths(tasks_a, name)
            weights[row] = [lengths.get(clip, 1.0) for clip in clips]
    levels = {name: _describe_metric(name, signs[name]) for name in metrics}
    names = pairs[0].a.name, pairs[0].b.name
    clusters = {clip: name for pair in pairs for system in pair.both for clip, name in system.clusters.items()}
    comparison = _compare_values(names, [clip for (clip,) in clips], clusters, levels, raw, weights, options)
    caution = caution_of_raw(len(clips), comparison.clusters) if options.draws else None
    return Compared(
        comparison=comparison,
        flags=[],
        notes=list(_notes_of_metrics(comparison, caution)),
        content=comparison_content(comparison) | {"caution": caution, "pooled": [*filter(can_pool, metrics)]},
        warnings=[],
        unit=UNIT,
        texts=[tasks_with_texts(tasks_a), tasks_with_texts(tasks_b)],
    )


def _by_clip(tables: Sequence[SampleTable], name: str) -> dict[Item, float]:
    """Return clip -> the mean of a column over its items."""
    values: dict[Item, list[float]] = {}
    for (_, item), value in join_columns(tables, name).items():
        values.setdefault(item[:1], []).append(value)
    return {clip: float(np.mean(items)) for clip, items in values.items()}


def _describe_metric(name: str, sign: float) -> Category:
    measure = Measure(name, "higher" if sign > 0 else "lower", "%" if can_pool(name) else "", undefined="counted")
    return Category(METRICS, name, measure, ("id",))


def _compare_values(
    names: tuple[str, str],
    clips: Sequence[str],
    clusters: Mapping[str, str],
    levels: dict[str, Category],
    raw: np.ndarray,
    weights: np.ndarray,
    options: ScoringOptions,
) -> Comparison:
    """Compare values of clips that grow with ability, shape (metrics, 2, clips), by their weights (metrics, clips)."""
    undefined = np.isnan(raw)
    both = ~undefined.any(axis=1)
    how = {"draws": options.draws, "seed": options.seed}
    found, shares, counts = {}, [], {}
    for row, name in enumerate(levels):
        values = np.where(both[row], raw[row], np.nan)
        found[name] = contrast(values, [(0, 1)], clips, clusters, weights=weights[row], **how)
        counted = np.where(both[row], weights[row], 0.0)
        parts = np.nan_to_num(values[0] - values[1]) * counted / (counted.sum() or 1.0)
        shares.append(parts / spread_of(raw[row]) / len(levels))
        if not both[row].all():
            absent_a, absent_b = undefined[row].sum(axis=1).tolist()
            counts[name] = UndefinedItems(absent_a, absent_b, len(clips), int(both[row].sum()))
    return Comparison(
        a=names[0],
        b=names[1],
        draws=options.draws,
        left_out=0,
        seed=options.seed,
        raw={name: compared.differences[0] for name, compared in found.items()},
        z={},
        siq=None,
        asked=tuple(levels),
        clips=order_shares(clips, np.array(shares), [*levels]),
        levels=levels,
        clusters=found[next(iter(levels))].means.clusters,
        undefined=counts,
    )


def _notes_of_metrics(comparison: Comparison, caution: str | None) -> Iterator[str]:
    if comparison.draws:
        yield f"{describe_samples(comparison.draws, comparison.seed, comparison.units)}; all metrics share each sample"
    pooled = [name for name in comparison.levels if can_pool(name)]
    means = [name for name in comparison.levels if not can_pool(name)]
    ways = {"pooled over clips": pooled, "mean over clips": means}
    yield "; ".join(f"{way}: {', '.join(names)}" for way, names in ways.items() if names)
    yield from describe_undefined(comparison)
    yield from caution_lines(caution)
    yield PARTS
