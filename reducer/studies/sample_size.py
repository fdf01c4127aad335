"""Plan the number of clips before a run, from the differences between the systems of a pilot run."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.metrics.measure import Category
from speechiq.reducer.runs.conditions import summarize
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.comparability import intersect
from speechiq.reducer.scores.draws import Clips
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.pairs import match_name
from speechiq.reducer.scores.remarks import explain_missing, title
from speechiq.reducer.scores.scale import POINTS, Scale
from speechiq.reducer.scores.score_matrix import ScoreMatrix, align
from speechiq.reducer.scores.suites import Found, ScoringOptions
from speechiq.reducer.stats.bootstrap import describe_samples
from speechiq.reducer.stats.estimate import ENOUGH, Estimate
from speechiq.reducer.stats.grid import Cell, Column, Grid, Important
from speechiq.reducer.stats.power import ALPHA, Spread, measure_spread
from speechiq.reducer.studies.comparison import SIQ
from speechiq.reducer.studies.result import StudyResult

FEWEST_CLIPS, FEWEST_CLUSTERS = 5, 2
NO_NORMS = "no SIQ: without --norms its points depend on the systems and clips of the pilot run"


class Aim(NamedTuple):
    """Hold what a run has to show: a difference in the unit of each score (None: not known), and with which power."""

    difference: float | None
    power: float


def plan_sizes(found: Found, aim: Aim, options: ScoringOptions, pair: tuple[str, str] | None = None) -> StudyResult:
    """Return the sample sizes for each score of each suite, a grid per suite.

    Args:
        options: How to score; norms add SIQ.
        pair: Parts of the names of two systems; None takes the median and the worst of all pairs by how much their
            differences vary, without controls if two systems are left.

    Returns:
        A record per score and pair, in the units that people read: a minus b in the pilot run (`difference`), its
        standard deviation over clips and intra-cluster correlation, the smallest difference that the clips show, and
        the needed numbers of clusters and clips if the difference is known.
    """
    _check_aim(aim, found.levels)
    grids, suites, rows = [], {}, []
    for suite in found.levels:
        records, remarks = _plan_suite(found.read(suite), aim, options, pair, has_scale=is_siq(suite))
        suites[suite] = records
        grids.append(_as_grid(suite, records, remarks, aim, options))
        rows += [{"suite": suite} | record for record in records]
    return StudyResult("speechiq-power", grids, aim._asdict() | {"suites": suites}, rows, tasks=found.all_tasks)


def _check_aim(aim: Aim, suites: Mapping[str, Mapping[str, Category]]) -> None:
    """Raise a `SpeechIQError` if an aim is impossible in one of some suites."""
    difference, power = aim
    if not ALPHA < power < 1:
        near = f"did you mean {power / 100:g}?" if 1 < power < 100 else "give one such as 0.8"
        raise SpeechIQError(
            f"--power {power:g}", f"not a probability above {ALPHA:g}, the error rate of the test, and below 1", near
        )
    if difference is not None and not 0 < difference < math.inf:
        fix = "give the smallest one that matters, such as 2"
        raise SpeechIQError(f"--difference {difference:g}", "not a difference above 0", fix)
    for category in (category for categories in suites.values() for category in categories.values()):
        least, largest = category.measure.bounds
        span = float(category.measure.show_score(largest - least))
        if category.measure.in_per_cent and category.measure.direction == "higher":
            span = min(span, 100.0)
        if difference is not None and difference >= span:
            raise SpeechIQError(
                f"--difference {difference:g}",
                f"two systems cannot differ so much in {title(category.name)} ({category.unit})",
                f"give less than {span:g}, or name other categories with --levels",
            )


def _plan_suite(
    systems: Sequence[System], aim: Aim, options: ScoringOptions, pair: tuple[str, str] | None, *, has_scale: bool
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the records of a suite, and remarks on them."""
    norms = options.norms if has_scale else None
    kept, mismatches = intersect(_choose(systems, pair), options.allow_mismatch, norms)
    matrix = align(kept)
    no_siq = explain_missing(matrix) or NO_NORMS * (not norms) if has_scale else ""
    scores = [
        (name, category.unit, matrix.number_clusters(name), category.show(matrix.raw[name]))
        for name, category in matrix.levels.items()
    ]
    if norms and not no_siq:
        scores.append((SIQ, "", Clips.from_matrix(matrix).clusters, parts_of_siq(matrix, norms.scale_of(matrix.clips))))
    records = []
    for name, unit, clusters, values in scores:
        for label, a, b in _choose_pairs(name, matrix.systems, clusters, values):
            spread = _measure(values[a] - values[b], clusters, options)
            about = {"score": name, "unit": unit, "pair": label, "a": matrix.systems[a], "b": matrix.systems[b]}
            records.append(about | _record(spread, aim))
    if not records:
        names = ", ".join(matrix.systems)
        raise SpeechIQError(names, "they differ equally on all clips", "give systems whose scores differ")
    remarks: list[str] = []
    if mismatches:
        remarks.append(Important(f"not on equal terms: {summarize(mismatches)}"))
    planned = {record["score"] for record in records}
    equal = [title(name) for name, *_ in scores if name not in planned]
    remarks += [f"{name}: the systems differ equally on all clips, so nothing can be planned" for name in equal]
    if no_siq:
        remarks.append(no_siq)
    return records, remarks


def parts_of_siq(matrix: ScoreMatrix, scale: Scale) -> np.ndarray:
    """Return what each clip adds to SIQ on a fixed scale, shape (systems, clips).

    The difference of two systems' means is that of their SIQ. Since eq. 4 divides by the sum of the weights of the
    clips, a clip's part is the linearization of a ratio.
    """
    clips = Clips.from_matrix(matrix)
    total = np.zeros((len(matrix.systems), len(clips.names)))
    for level, raw in matrix.raw.items():
        weights = scale.levels[level].discrimination
        mean = (raw @ weights / weights.sum())[:, None]
        parts = clips.spread(level, (raw - mean) * weights / weights.mean()) * len(clips.names) / raw.shape[1]
        total += POINTS * scale.levels[level].weight / scale.levels[level].std * (parts + mean)
    return total


def _as_grid(
    suite: str, records: Sequence[Mapping[str, Any]], remarks: Sequence[str], aim: Aim, options: ScoringOptions
) -> Grid:
    """Return the grid of the sample sizes of one suite."""
    clustered = any(record["pilot_clusters"] < record["pilot_clips"] for record in records)
    columns = [Column("score", "Score"), Column("system", "Systems"), Column("pilot_clips", "Clips\nnow", "d")]
    if clustered:
        columns += [Column("pilot_clusters", "Clusters\nnow", "d"), Column("icc", "ICC", ".2f")]
    columns += [Column("smallest_difference", "Shown now", ".2f")]
    if aim.difference is not None:
        columns += [Column("needed_clips", f"Clips for {aim.difference:g}", ".0f")]
        if clustered:
            columns.append(Column("needed_clusters", f"Clusters\nfor {aim.difference:g}", ".0f"))
    rows: list[dict[str, Cell]] = []
    for record in records:
        score = f"{title(record['score'])} {record['unit']}\n{record['pair']}".strip()
        rows.append({**record, "score": score, "system": f"{record['a']}\n{record['b']}"})
    return Grid(f"Suite {suite}: sample size", columns, rows, [*_notes(records, remarks, aim, options, clustered)])


def _notes(
    records: Sequence[Mapping[str, Any]],
    remarks: Sequence[str],
    aim: Aim,
    options: ScoringOptions,
    clustered: bool,
) -> Iterator[str]:
    unit = "cluster" if clustered else "clip"
    fewest = min(record["pilot_clusters"] for record in records)
    if fewest < ENOUGH:
        yield Important(f"Small pilot run ({count_of(fewest, unit)}): plan with the upper end of the interval")
    yield from remarks
    yield f"Shown now: smallest difference that a paired test at {100 * ALPHA:.0f} % shows with power {aim.power:g}"
    if any(record["pair"] for record in records):
        yield "median and worst pair: of all pairs of systems, by how much their differences vary"
    if clustered:
        yield "needed clips are in clusters of the mean size of these runs; more clips per cluster help less"
    if options.norms and any(record["score"] == SIQ for record in records):
        further = f"with further clips like these; below {ENOUGH} its interval needs more than its p value"
        yield f"SIQ: norms: {options.norms.label}, {further}"
    if any(math.isinf(record["smallest_difference"].high) for record in records):
        yield f"inf: the systems differ on so few {unit}s that no number is safe; run more"
    if options.draws:
        samples = describe_samples(options.draws, options.seed, f"{unit}s")
        yield f"{samples}: how uncertain the spread in these runs is"


def _choose(systems: Sequence[System], pair: tuple[str, str] | None) -> list[System]:
    """Return two systems by parts of their names, or all systems, without controls if two are left."""
    by_name = {system.name: system for system in systems}
    if len(systems) < 2:
        raise SpeechIQError(
            f"only system {', '.join(by_name)}",
            "a difference needs two",
            "add runs of another, or choose a suite with --levels",
        )
    if pair:
        names = {match_name(part, [*by_name]) for part in pair}
        if len(names) == 1:
            raise SpeechIQError(f"--pair {' '.join(pair)}", f"both are {names.pop()!r}", "name two systems")
        return [by_name[name] for name in names]
    tested = [system for system in systems if not system.control]
    return tested if len(tested) > 1 else list(systems)


def _choose_pairs(
    name: str, systems: Sequence[str], clusters: np.ndarray, values: np.ndarray
) -> list[tuple[str, int, int]]:
    """Return the label and the rows of each pair to plan for, among those whose differences vary."""
    ordered = []
    for a, b in combinations(range(len(systems)), 2):
        spread = _measure(values[a] - values[b], clusters)
        if spread.clips < FEWEST_CLIPS or spread.clusters < FEWEST_CLUSTERS:
            raise SpeechIQError(
                f"{title(name)} of {systems[a]} and {systems[b]}",
                f"{count_of(spread.clips, 'clip')} in {count_of(spread.clusters, 'cluster')}: too small a pilot run",
                f"run at least {FEWEST_CLIPS} clips in {FEWEST_CLUSTERS} clusters",
            )
        if spread.unit.value:
            ordered.append((spread.unit.value, a, b))
    ordered.sort()
    if len(ordered) < 2:
        return [("", a, b) for _, a, b in ordered]
    return [("median pair", *ordered[(len(ordered) - 1) // 2][1:]), ("worst pair", *ordered[-1][1:])]


def _measure(differences: np.ndarray, clusters: np.ndarray, options: ScoringOptions | None = None) -> Spread:
    """Return how differences vary over the clips that have one; without options, without an interval."""
    defined = ~np.isnan(differences)
    numbers = clusters if defined.all() else np.unique(clusters[defined], return_inverse=True)[1]
    draws, seed = (options.draws, options.seed) if options else (0, 0)
    return measure_spread(differences[defined], numbers, draws=draws, seed=seed)


def _record(spread: Spread, aim: Aim) -> dict[str, Any]:
    record = {
        "pilot_clips": spread.clips,
        "pilot_clusters": spread.clusters,
        "difference": spread.mean,
        "deviation": spread.deviation,
        "icc": spread.icc,
        "smallest_difference": spread.smallest(aim.power),
    }
    if aim.difference is None:
        return record
    clusters = spread.needed(aim.difference, aim.power)
    size = spread.clips / spread.clusters
    value, low, high = (float(np.ceil(np.round(end * size, 6))) for end in clusters[:3])
    return record | {"needed_clusters": clusters, "needed_clips": Estimate(value, low, high)}
