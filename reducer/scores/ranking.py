"""Score the systems of a suite: mean, interval and rank per category, and Z and SIQ if the suite has a scale.

Data sets can be scored apart, and averaged, each with the same weight. So are the people among the systems.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.engines.base import PERSON
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.bootstrap import leave_one_out, resample, resample_alone, resample_raw
from speechiq.reducer.scores.comparability import intersect
from speechiq.reducer.scores.derived import derive_columns
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.remarks import (
    NO_REMARKS,
    describe_weights,
    explain_few,
    explain_no_siq,
    has_scale,
    observe,
    separates_by_z,
)
from speechiq.reducer.scores.scale import PAPER, NoSpread, Weighting, calibrate, flat, score
from speechiq.reducer.scores.score_matrix import ScoreMatrix, align
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.estimate import Estimate, Interval
from speechiq.siq_tasks.questions.exam import PEOPLE

MACRO = "macro-average"


def rank(
    systems: Iterable[System],
    suite: str = SIQ,
    *,
    rule: Weighting = PAPER,
    norms: Norms | None = None,
    allow_mismatch: bool = False,
    draws: int = 0,
    seed: int = 0,
) -> Scoreboard:
    """Score the systems of one suite, against each other or on the scale of norms.

    A level without scores of any system is left out. SIQ is NaN if one of `LEVELS` is left out, and without a scale:
    for fewer than three systems, or a level on which all tie, both without norms. The remarks say why. Without a scale
    X and Z are NaN as well.

    Args:
        suite: Name of the suite; only SIQ has a scale.
        rule: Rules of the weights; norms have their own.
        norms: Norms to score on; None makes the systems their own reference population.
        allow_mismatch: Whether systems may have been run on different clips, questions or task versions. What they
            share is scored then, and the scoreboard names the mismatches.
    """
    kept, mismatches = intersect(sorted(systems, key=lambda system: system.name), allow_mismatch, norms)
    scoreboard = _describe(suite, kept)._replace(mismatches=tuple(mismatches))
    if is_siq(suite):
        scoreboard = _add_scale(scoreboard, rule, norms, draws, seed)
    elif draws:
        scoreboard = scoreboard._replace(bars=resample_raw(scoreboard.pool, draws=draws, seed=seed))
    if scoreboard.bars:
        derived = resample_alone(scoreboard.derived.pool, scoreboard.pool, draws=draws, seed=seed)
        scoreboard.bars.intervals.update(derived.intervals)
        scoreboard.bars.std.update(derived.std)
    return scoreboard


def rank_groups(scoreboard: Scoreboard, systems: Sequence[System]) -> Scoreboard:
    """Score groups of items, which take the place of categories in `systems`, with draws as in `scoreboard`.

    If each group is one cluster, such as a speaker, the groups are not drawn: their clips are.
    """
    groups, clips = _describe(scoreboard.suite, systems), scoreboard.pool
    lone = [group for group in groups.pool.clips if groups.pool.count_clusters(group) == 1]
    if len(lone) == len(groups.pool.clips):
        groups, clips = groups._replace(pool=groups.pool._replace(clusters={})), clips._replace(clusters={})
        lone = [group for group, names in groups.pool.clips.items() if len(names) == 1]
    bars = scoreboard.bars and resample_alone(
        groups.pool, clips, draws=scoreboard.bars.draws, seed=scoreboard.bars.seed
    )
    if bars:
        bars.intervals.update(dict.fromkeys(lone, Interval(*np.full((2, len(systems)), np.nan))))
    return groups._replace(mismatches=scoreboard.mismatches, bars=bars)


def _describe(suite: str, systems: Sequence[System]) -> Scoreboard:
    """Return the scoreboard of systems in the order of their names, without error bars and scale."""
    pool, derived = align(systems), derive_columns(systems)
    means = pool.means | derived.pool.means
    return Scoreboard(suite, pool, tuple(systems), derived, means, observe(pool, systems))


def _add_scale(scoreboard: Scoreboard, rule: Weighting, norms: Norms | None, draws: int, seed: int) -> Scoreboard:
    """Return the scoreboard of SIQ's levels with Z and SIQ, and the error bars of all columns; see `rank`."""
    pool = scoreboard.pool
    remarks = scoreboard.remarks._replace(no_siq=explain_no_siq(pool, norms), few=explain_few(pool, norms))
    scale = fixed = norms.scale_of(pool.clips) if norms else None
    if scale is None and has_scale(pool):
        try:
            scale = calibrate(pool, rule)
        except NoSpread as error:
            remarks = remarks._replace(no_siq=remarks.no_siq or f"no SIQ: {error}", few=None)
    if scale is None:
        scale = fixed = flat(pool)
    scores = score(pool, scale)
    levels, siq = scores.levels, scores.siq
    if remarks.no_siq:
        siq = np.full(len(siq), np.nan)
    else:
        remarks = remarks._replace(weights=scale.weights)
    scored = scoreboard._replace(scale=scale, siq=siq, norms=norms)
    if scored.has_z:
        remarks = remarks._replace(
            separates_by_z=separates_by_z(pool, scale),
            weighting=tuple(describe_weights(pool, scores, scored.ranked, own_scale=norms is None)),
        )
    nothing = np.full(len(siq), np.nan)
    return scored._replace(
        remarks=remarks,
        weighted={level: scores.weighted if scored.has_z else nothing for level, scores in levels.items()},
        z={level: scores.z if scored.has_z else nothing for level, scores in levels.items()},
        bars=resample(pool, scale=fixed, rule=rule, draws=draws, seed=seed) if draws else None,
        shifts=leave_one_out(pool, rule) if draws and not norms and not remarks.no_siq else None,
    )


def rank_by_dataset(systems: Iterable[System], suite: str = SIQ, **options: Any) -> dict[str, Scoreboard]:
    """Score systems on the clips of each data set, each with a scale of its own; `options` are those of `rank`."""
    scoreboards = {}
    for dataset, members in split_datasets(systems).items():
        try:
            scoreboard = rank(members, suite, **options)
        except SpeechIQError as error:
            raise SpeechIQError(f"data set {dataset!r}", error) from error
        if scoreboard.scale and not scoreboard.has_z and has_scale(scoreboard.pool):
            raise SpeechIQError(f"data set {dataset!r}", scoreboard.remarks.no_siq)
        scoreboards[dataset] = scoreboard
    return scoreboards


def split_datasets(systems: Iterable[System]) -> dict[str, list[System]]:
    """Return data set -> the systems with only the items of that data set."""
    systems = list(systems)
    names = set().union(*(system.table["dataset"] for system in systems))
    return {name: [_part(system, name) for system in systems] for name in sorted(names)}


def macro_average(scoreboard: Scoreboard, parts: Mapping[str, Scoreboard]) -> Scoreboard | None:
    """Return the mean of each number over the data sets that have it; None if no category has several.

    The mean is not weighted. On a scale only the levels of all data sets count, since SIQ needs each of them; without
    all levels it is missing. There are neither intervals nor flags.
    """
    boards = list(parts.values())
    sets: dict[str, list[Scoreboard]] = {}
    for column in scoreboard.columns:
        sets[column] = [board for board in boards if column in board.columns]
    columns = [column for column, having in sets.items() if len(having) == len(boards) or not scoreboard.scale]
    pool, derived = scoreboard.pool.restrict(columns), scoreboard.derived
    if not pool.raw or (not scoreboard.scale and all(len(sets[category]) < 2 for category in pool.raw)):
        return None
    means = {}
    for column in columns:
        means[column] = np.mean([board.means[column] for board in sets[column]], axis=0)
    macro = scoreboard._replace(
        pool=pool,
        systems=tuple(system.without_flags() for system in scoreboard.systems),
        derived=derived._replace(pool=derived.pool.restrict(columns), left_out=()),
        means=means,
        remarks=NO_REMARKS,
        bars=None,
        reliability={},
        shifts=None,
    )
    if scoreboard.scale is None:
        return macro
    weighted, z = dict[str, np.ndarray](), dict[str, np.ndarray]()
    for level in pool.raw:
        weighted[level] = np.mean([board.weighted[level] for board in boards], axis=0)
        z[level] = np.mean([board.z[level] for board in boards], axis=0)
    return macro._replace(weighted=weighted, z=z, siq=np.mean([board.siq for board in boards], axis=0))


def macro_caption(pools: Mapping[str, ScoreMatrix]) -> list[str]:
    """Return the lines below the table of the macro-average."""
    sizes = {dataset: max(map(len, pool.clips.values())) for dataset, pool in pools.items()}
    shown = ", ".join(f"{dataset} ({count_of(count, 'clip')})" for dataset, count in sizes.items())
    return [
        f"mean of the data sets' tables, each data set with the same weight: {shown}",
        "in the first table each clip counts once, so a data set with more clips counts more",
    ]


def _part(system: System, dataset: str) -> System:
    tasks = tuple(task for task in system.tasks if task.dataset == dataset)
    return system.replace(tasks=tasks, table=system.table.where(system.table["dataset"] == dataset))


def find_people(scoreboard: Scoreboard) -> list[int]:
    """Return the rows of the people."""
    return [row for row, system in enumerate(scoreboard.systems) if system.kind == PERSON]


def average_people(scoreboard: Scoreboard) -> dict[str, Estimate]:
    """Return level -> mean score of the people in its unit, and `siq` -> their mean SIQ if the suite has one.

    This is the row of people in the paper's Table 6. Intervals are of the clips: other clips from the same source, the
    same people, and the same scale.
    """
    rows, pool, bars = find_people(scoreboard), scoreboard.pool, scoreboard.bars
    raw = {level: values[rows].mean(axis=0, keepdims=True) for level, values in pool.raw.items()}
    mean = pool._replace(systems=(PEOPLE,), raw=raw, controls=frozenset())
    board = scoreboard._replace(pool=mean, means={level: values.mean(axis=1) for level, values in raw.items()})
    if bars and scoreboard.has_siq:
        board = board._replace(bars=resample(mean, scale=scoreboard.scale, draws=bars.draws, seed=bars.seed))
    elif bars:
        board = board._replace(bars=resample_raw(mean, draws=bars.draws, seed=bars.seed))
    found = {level: board.estimate(level, 0) for level in raw}
    if scoreboard.has_siq and scoreboard.scale:
        found[SIQ] = board._replace(siq=score(mean, scoreboard.scale).siq).estimate_siq(0)
    return found
