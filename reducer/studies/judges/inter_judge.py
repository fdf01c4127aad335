"""Measure the inter-judge agreement: how far two judges agree on the same answers."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.judged import JUDGE_KEYS, Judged, name_judges
from speechiq.reducer.runs.samples import show_item
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.stats.agreement import compare_raters
from speechiq.reducer.stats.bootstrap import describe_samples
from speechiq.reducer.stats.grid import Column, Grid, name_units
from speechiq.reducer.studies.agreement import as_grid as agreement_grid

ALL = "all systems"
FIX = "judge the stored answers of one run again: `siq judge run RUNS --judge ENGINE:MODEL`"
MEANINGS = (
    "scores in percent of the rubric's scale; answers that one of the judges left unjudged are left out",
    "Bias: mean of A - B, above 0 if A is more generous",
    "Kappa: Cohen's, quadratic weights; Alpha: Krippendorff's; 1 full agreement, 0 that of chance",
    "Spearman: rank correlation; Equal: answers with equal scores",
    "two judges can agree and both be wrong: `siq judge check` compares a judge with people",
)


#: The clip of an answer, and what A and what B made of the answer.
Pair = tuple[str, Judged, Judged]


def compare(runs_a: Found, runs_b: Found, *, draws: int, allow_mismatch: bool = False) -> list[dict[str, Any]]:
    """Return the agreement of two judges of the same answers: for each suite and category of all systems, then of each.

    A record has the number of `answers` that both have judged, over which means and agreement are, and of those without
    a score of A and of B. Scores are shares of the scale, 0 to 1, since the judges may have different rubrics. Alpha is
    that of the `ordinal` scale for whole grades, else of the interval scale.

    Answers that differ between the runs are left out if `allow_mismatch`, else refused.
    """
    agreements: list[dict[str, Any]] = []
    for suite in runs_a.levels:
        if suite in runs_b.levels:
            side_a, side_b = ({system.name: system for system in runs.read(suite)} for runs in (runs_a, runs_b))
            for name, category in runs_a.levels[suite].items():
                if category.judged and name in runs_b.levels[suite]:
                    agreements += _compare_category(suite, name, side_a, side_b, draws, allow_mismatch)
    if not agreements:
        suites = " and ".join(", ".join(runs.levels) for runs in (runs_a, runs_b))
        raise SpeechIQError(f"no answer has a score of both judges (suites {suites})", fix=FIX)
    return agreements


def _compare_category(
    suite: str,
    category: str,
    side_a: Mapping[str, System],
    side_b: Mapping[str, System],
    draws: int,
    allow_mismatch: bool,
) -> Iterator[dict[str, Any]]:
    sides = side_a, side_b
    shared = [name for name in side_a if all(name in side and category in side[name].scores for side in sides)]
    if not shared:
        return
    tasks = [[task for name in shared for task in side[name].tasks if task.level == category] for side in sides]
    judges = [name_judges(side) for side in tasks]
    settings = [{tuple(repr(task.metadata.get(key)) for key in JUDGE_KEYS) for task in side} for side in tasks]
    if settings[0] & settings[1]:
        raise SpeechIQError(f"category {category}", f"both sides were {judges[0]} with equal settings", FIX)
    groups = {name: _pair(side_a[name], side_b[name], category, allow_mismatch) for name in shared}
    if len(groups) > 1:
        groups = {ALL: [*chain.from_iterable(groups.values())]} | groups
    systems = [system for side in sides for system in side.values()]
    clusters = {clip: cluster for system in systems for clip, cluster in system.clusters.items()}
    for name, pairs in groups.items():
        rated = [(clip, a, b) for clip, a, b in pairs if not (a.unjudged or b.unjudged)]
        if not rated:
            continue
        scores_a, scores_b = np.array([a.judge for _, a, _ in rated]), np.array([b.judge for _, _, b in rated])
        points = np.array([judged.points for _, *both in rated for judged in both])
        ordinal = bool((points == np.round(points)).all())
        clips = [clip for clip, *_ in rated]
        agreement = compare_raters(scores_a, scores_b, clips, clusters, ordinal=ordinal, draws=draws)
        yield {
            "suite": suite,
            "category": category,
            "system": name,
            "judge_a": judges[0],
            "judge_b": judges[1],
            "answers": len(rated),
            "unjudged_a": sum(a.unjudged for _, a, _ in pairs),
            "unjudged_b": sum(b.unjudged for _, _, b in pairs),
            "mean_a": float(scores_a.mean()),
            "mean_b": float(scores_b.mean()),
            "ordinal": ordinal,
            **agreement._asdict(),
        }


def _pair(system_a: System, system_b: System, category: str, allow_mismatch: bool) -> list[Pair]:
    a, b = system_a.scored_answers(category), system_b.scored_answers(category)
    shared = [item for item in a if item in b]
    differing = {item: None for item in shared if a[item].answer != b[item].answer}
    if differing and not allow_mismatch:
        raise SpeechIQError(
            f"category {category}",
            f"{len(differing)} of {len(shared)} answers of system {system_a.name!r} differ between the two sides, such "
            f"as {show_item(next(iter(differing)))}, so that judges cannot be compared on them",
            f"{FIX}, or add --allow-mismatch to leave them out",
        )
    return [(item[0], a[item], b[item]) for item in shared if item not in differing]


def as_grid(agreements: Sequence[Mapping[str, Any]], draws: int) -> Grid:
    """Return a grid with a row per category and system; `draws` are those of the intervals."""
    names = [
        Column("title", "Category"),
        Column("system", "System"),
        Column("answers", "Answers", "d"),
        Column("mean_a", "A %", ".2f", factor=100),
        Column("mean_b", "B %", ".2f", factor=100),
        Column("unjudged_a", "Unjudged\nA", "d"),
        Column("unjudged_b", "B", "d", below="unjudged_a"),
    ]
    judges = {(title(row["category"]), row["judge_a"], row["judge_b"], row["ordinal"]) for row in agreements}
    notes = [
        f"{category}: A {a}; B {b}; alpha for the {'ordinal' if ordinal else 'interval'} scale"
        for category, a, b, ordinal in sorted(judges)
    ]
    units = name_units(row["bias"] for row in agreements)
    bars = [describe_samples(draws, 0, units)] if draws else []
    rows = [{**row, "title": title(row["category"]), "bias": row["bias"].map(100.0)} for row in agreements]
    statistics = ("bias", "kappa", "alpha", "spearman", "equal")
    return agreement_grid("Inter-judge agreement", rows, statistics, [*notes, *MEANINGS, *bars], names)
