"""Write scoreboards as plain data (docs/reference/scores.md): one record per system, of which every table is made."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from speechiq.core.files.json_text import shorten
from speechiq.reducer.runs.conditions import ASPECTS
from speechiq.reducer.runs.judged import name_judges
from speechiq.reducer.scores.remarks import find_heaviest
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.estimate import CONFIDENCE, Estimate, Interval, plain
from speechiq.reducer.studies.agreement import POOLED
from speechiq.reducer.studies.groups import GroupScores

#: Name of the rows over all data sets.
ALL_SETS = "all"


def as_json(scoreboard: Scoreboard) -> dict[str, Any]:
    """Return a scoreboard as plain data, unrounded, best system first; unknown values are None.

    Scores and intervals are as the column has them: an error rate falls with ability. `undefined` is the number of
    items without a score, for categories whose measure counts them; `judge` and `reliability` describe the judge of
    categories that have one. The scale of SIQ adds keys.
    """
    pool, bars, remarks, derived = scoreboard.pool, scoreboard.bars, scoreboard.remarks, scoreboard.derived
    content = {
        "measures": {
            name: category.measure.record | ({"floor": scoreboard.floors[name]} if name in scoreboard.floors else {})
            for name, category in pool.levels.items()
        },
        "derived": {
            name: column.measure.record
            | {"categories": list(derived.members[name]), "items": len(derived.systems[0].scores[name])}
            for name, column in derived.levels.items()
        },
        "clips": {category: len(clips) for category, clips in pool.clips.items()},
        "clusters": {category: count.clusters for category, count in remarks.counts.items()},
        "items": {category: count.items for category, count in remarks.counts.items()},
        "limited": {
            category: {"evaluated": count.evaluated, "available": count.available}
            for category, count in remarks.counts.items()
            if count.limited
        },
        "separates": dict(remarks.separates),
        "separates_by_z": dict(remarks.separates_by_z),
        "identical": [list(names) for names in remarks.identical],
        "mismatches": [mismatch.text for mismatch in scoreboard.mismatches],
        "bootstrap": bars
        and {
            "draws": bars.draws,
            "left_out": bars.left_out,
            "seed": bars.seed,
            "confidence": CONFIDENCE,
            "caution": scoreboard.caution,
        },
        "systems": rows_of(scoreboard),
        "remarks": [*remarks.readings(), *remarks.lines(pool.levels)],
    }
    scale = _describe_scale(scoreboard) if scoreboard.scale else {}
    return {key: plain(value) for key, value in (content | scale).items()}


def rows_of(scoreboard: Scoreboard) -> list[dict[str, Any]]:
    """Return one dict per system, best first; unknown values are None."""
    likely = scoreboard.rank_probabilities
    return [plain(_row(scoreboard, row, likely.get(row))) for row in scoreboard.order]


def csv_rows(scoreboard: Scoreboard, **part: str) -> list[dict[str, Any]]:
    """Return one row per system with a column per number, such as `<category>_score`, and the columns of `part`."""
    about = {"interval_caution": scoreboard.caution or "", "weighting": "; ".join(scoreboard.remarks.weighting)}
    if scoreboard.scale:
        rule = scoreboard.scale.rule if scoreboard.has_siq else None
        about |= {
            "rule": rule.levels if rule else "",
            "clip_weights": rule.clips if rule else "",
            "excluded_set": shorten(scoreboard.excluded_set or ""),
            "norms": scoreboard.norms.title if scoreboard.norms else "",
        }
    rows = []
    for record in rows_of(scoreboard):
        nested = [record.pop(key) for key in ("categories", "derived", "flags")]
        for cells in (*nested, about, part):
            record |= cells
        rows.append(record)
    return rows


def group_json(scores: GroupScores) -> dict[str, Any]:
    """Return the scores of groups as plain data: of each system, the largest gap and the differences of all pairs."""
    content = as_json(scores.scoreboard)
    for cells, row in zip(content["systems"], scores.scoreboard.order, strict=True):
        gap, pairs = scores.gap(row), scores.pairs[row]
        cells["gap"] = plain(gap and gap.record)
        cells["pairs"] = plain([{"group_a": a, "group_b": b, **each.record} for (a, b), each in pairs.items()])
    about = {"item_categories": scores.categories, "without": scores.without, "notes": [*scores.lines()]}
    return {**plain(about), **content}


def group_rows(scores: GroupScores) -> list[dict[str, Any]]:
    """Return the rows of the CSV file with the scores of groups and the largest gap of each system."""
    rows = csv_rows(
        scores.scoreboard,
        dataset=ALL_SETS,
        group_by=scores.field,
        item_categories=", ".join(scores.categories),
    )
    gaps = map(scores.gap, scores.scoreboard.order)
    return [row | ({"gap": plain(gap.record)} if gap else {}) for row, gap in zip(rows, gaps, strict=True)]


def join_contents(contents: Mapping[str, Mapping[str, Any]], first: str) -> dict[str, Any]:
    """Return the content of a JSON file: that of the suite `first`, and other suites, if there are any, by name.

    >>> join_contents({"siq": {"a": 1}, "keywords": {"a": 2}}, "siq")
    {'a': 1, 'suites': {'keywords': {'a': 2}}}
    """
    others = {suite: content for suite, content in contents.items() if suite != first}
    return {**contents.get(first, {}), **({"suites": others} if others else {})}


def _describe_scale(scoreboard: Scoreboard) -> dict[str, Any]:
    """Return the keys that the scale of SIQ adds."""
    norms, shifts, names = scoreboard.norms, scoreboard.shifts, scoreboard.pool.systems
    scale = scoreboard.scale if scoreboard.has_siq else None
    heaviest = find_heaviest(scoreboard.pool, scoreboard.scale) if scoreboard.scale and scoreboard.has_z else None
    mismatched = {mismatch.aspect for mismatch in scoreboard.mismatches}
    return {
        "weights": scale and scale.weights,
        "rule": scale and scale.rule.levels,
        "clip_weights": scale and scale.rule.clips,
        "norms": norms
        and {
            "name": norms.label,
            "example": norms.example,
            "sha256": norms.sha256,
            "systems": norms.systems,
            "match": {aspect: aspect not in mismatched for aspect in ASPECTS},
        },
        "heaviest_clips": heaviest,
        "excluded": scoreboard.excluded,
        "excluded_set": scoreboard.excluded_set,
        "leave_one_out": None
        if shifts is None
        else {left: dict(zip(names, row, strict=True)) for left, row in zip(names, shifts, strict=True)},
        "no_siq": scoreboard.remarks.no_siq,
    }


def _row(scoreboard: Scoreboard, row: int, likely: np.ndarray | None) -> dict[str, Any]:
    system = scoreboard.systems[row]
    cells: dict[str, Any] = {"system": system.name}
    cells |= _place(scoreboard, row, likely) if scoreboard.scale else {"mean_rank": scoreboard.places[row]}
    cells |= {
        "kind": system.kind or None,
        "control": system.control or None,
        "imported": ", ".join(system.imported) or None,
        "flags": system.flags,
        "mismatches": scoreboard.list_mismatches(row),
        "categories": {category: dict(_cell(scoreboard, category, row)) for category in scoreboard.pool.raw},
        "derived": {column: dict(_cell(scoreboard, column, row)) for column in scoreboard.derived.levels},
    }
    if scoreboard.hallucination:
        rate = scoreboard.hallucination[system.name]
        counts = {"hallucinated": count_hallucinated(rate), "asked": rate.n}
        cells |= {"hallucination": {"rate": rate.value, "interval": rate.ends} | counts}
    return cells | ({"reliability": scoreboard.reliability[POOLED][row]} if POOLED in scoreboard.reliability else {})


def count_hallucinated(rate: Estimate) -> int:
    """Count the questions without an answer that a system answered, by the rate of them."""
    return round(rate.n * rate.value) if rate.n else 0


def _place(scoreboard: Scoreboard, row: int, likely: np.ndarray | None) -> dict[str, Any]:
    """Return the SIQ of a system, its rank, and the error bars of both."""
    known = not np.isnan(scoreboard.siq[row])
    bars = scoreboard.bars if known else None
    return {
        "siq": scoreboard.siq[row],
        "siq_interval": bars and _ends(bars.siq, row),
        "siq_std": bars and bars.siq_std[row],
        "rank": _whole(scoreboard.places[row]),
        "rank_probabilities": likely,
    }


def _cell(scoreboard: Scoreboard, column: str, row: int) -> Iterator[tuple[str, Any]]:
    """Yield the parts of the score of a system in a column."""
    category, bars, system = scoreboard.columns[column], scoreboard.bars, scoreboard.find_scored(column, row)
    measure = category.measure
    yield "score", measure.sign * scoreboard.means[column][row]
    yield "direction", measure.direction
    yield "interval", bars and _ends(bars.intervals[column], row, measure.sign)
    yield "std", bars and bars.std[column][row]
    if column in scoreboard.z:
        z = scoreboard.z[column][row]
        yield "weighted", scoreboard.weighted[column][row]
        yield "z", z
        yield "z_interval", None if bars is None or np.isnan(z) else _ends(bars.z[column], row)
    if column in scoreboard.levels:
        yield "rank", _whole(scoreboard.rank_in(column)[row])
    if measure.may_be_undefined:
        yield "undefined", system.count_undefined(column)
    if category.judged and (judges := name_judges(system.tasks_at(column))):
        yield "judge", judges
    if column in scoreboard.reliability:
        yield "reliability", scoreboard.reliability[column][row]


def _whole(rank: float) -> int | None:
    return None if np.isnan(rank) else int(rank)


def _ends(interval: Interval, row: int, sign: float = 1.0) -> list[float] | None:
    """Return the ends of an interval, the lower first; None if it is not defined."""
    ends = [sign * float(end[row]) for end in interval]
    return None if np.isnan(ends).any() else sorted(ends)
