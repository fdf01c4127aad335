"""Compare pairs of systems for the page as `siq compare` does, and the clips' parts in any pair's difference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from speechiq.reducer.report.data import Standing, known
from speechiq.reducer.report.study import Study
from speechiq.reducer.scores.draws import POINTS
from speechiq.reducer.scores.remarks import has_scale
from speechiq.reducer.scores.scale import flat
from speechiq.reducer.studies import coupled
from speechiq.reducer.studies.comparison import Comparison
from speechiq.reducer.tables import side_by_side

MOST_PAIRS = 45
#: Clips times pairs; further pairs are left to `siq compare`, so that a page takes some ten seconds longer at most.
MOST_WORK = 10_000


def browser_data(study: Study, rows: Sequence[Standing]) -> dict[str, Any]:
    """Return what the page compares; systems are numbered in the order of the leaderboard.

    Returns:
        `unit` of the clips' parts; `levels` as the clips name their columns (`wer`, `sim`, `acc`), each with `title`
        and `parts`: per clip, how much of `unit` one shown unit of difference is worth; `scores`: per system,
        `[name, unit, value]` of each row of the table; `pairs`: `"0 1"` -> `rows`, `verdict` and `caution`, for the
        pairs that were computed.
    """
    pairs: dict[str, Any] = {}
    for a, b in _pairs(study, rows):
        found = _compare(study, rows[a].name, rows[b].name)
        pairs[f"{a} {b}"] = _plain(found)
        pairs[f"{b} {a}"] = _plain(found.swap())
    return {
        "unit": "SIQ" if study.has_siq else "points in the mean of the levels",
        "levels": _parts(study),
        "scores": [_scores(study, row) for row in rows],
        "pairs": pairs,
    }


def _pairs(study: Study, rows: Sequence[Standing]) -> list[tuple[int, int]]:
    """Return the pairs to compute, neighbors of the leaderboard first; none without draws."""
    if not study.scoreboard.bars:
        return []
    clips = max(len(of) for of in study.scoreboard.pool.clips.values())
    most = min(MOST_PAIRS, MOST_WORK // clips)
    every = [(a, a + apart) for apart in range(1, len(rows)) for a in range(len(rows) - apart)]
    return every[:most]


def _compare(study: Study, a: str, b: str) -> Comparison:
    scoreboard = study.scoreboard
    bars, norms = scoreboard.bars, scoreboard.norms
    tied = has_scale(scoreboard.pool, norms) and not study.has_z
    return coupled.compare(
        scoreboard.pool,
        a,
        b,
        scale=norms.scale_of(scoreboard.pool.clips) if norms else None,
        rule=study.scale.rule,
        draws=bars.draws if bars else 0,
        seed=bars.seed if bars else 0,
        raw_only=scoreboard.remarks.no_siq if tied else None,
    )


def _plain(comparison: Comparison) -> dict[str, Any]:
    rows = []
    for row in comparison.rows:
        of = row.difference
        numbers = (known(number) for number in (of.a, of.b, of.value, of.low, of.high, of.p))
        rows.append([row.label, row.unit, *numbers, side_by_side.favors_of(row)])
    return {"rows": rows, "verdict": side_by_side.verdict(comparison), "caution": comparison.caution or ""}


def _scores(study: Study, row: Standing) -> list[tuple[str, str, float | None]]:
    return [*_each_score(study, row)]


def _each_score(study: Study, row: Standing) -> Iterator[tuple[str, str, float | None]]:
    for level, cell in row.levels.items():
        yield level.title(), study.scoreboard.levels[level].unit, known(cell.shown)
        if not math.isnan(cell.z):
            yield level.title(), "Z", known(cell.z)
    if not math.isnan(row.siq):
        yield "SIQ", "", known(row.siq)


def _parts(study: Study) -> dict[str, dict[str, Any]]:
    """Return each level's column -> its title and how much a clip's difference counts (`comparison.Share`)."""
    pool, columns = study.scoreboard.pool, {"remember": "wer", "understand": "sim", "apply": "acc"}
    scale = study.scale if study.has_siq else flat(pool)
    unit = POINTS if study.has_siq else 100.0
    found = {}
    for level, of in scale.levels.items():
        per_z = np.asarray(of.discrimination / (of.discrimination.sum() * of.std))
        worth = unit * of.weight * per_z / study.scoreboard.levels[level].show(1.0)
        found[columns[level]] = {
            "title": level.title(),
            "parts": {clip: known(float(part), 9) for clip, part in zip(pool.clips[level], worth, strict=True)},
        }
    return found
