"""Prepare what the page's scripts read: charts, clips with their scores, comparisons of pairs of systems."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from speechiq.reducer.output.page import figures
from speechiq.reducer.output.page.study import Study
from speechiq.reducer.output.page.tables import Row
from speechiq.reducer.scores.remarks import has_scale, title
from speechiq.reducer.scores.scale import POINTS, flat
from speechiq.reducer.stats.grid import Column, Grid
from speechiq.reducer.studies.compare import better_of, verdict
from speechiq.reducer.studies.comparison import Comparison, compare_all

#: Level -> column of the clips.
COLUMNS = {"remember": "wer", "understand": "sim", "apply": "acc"}
#: Level -> what its score is called in charts and for a clip.
SCORES = {"remember": "WER", "understand": "similarity", "apply": "accuracy"}
MOST_PAIRS = 45
#: Clips times pairs; further pairs are left to `siq compare`, so that a page takes some ten seconds longer at most.
MOST_WORK = 10_000


def charts(study: Study, rows: Sequence[Row]) -> dict[str, go.Figure]:
    """Return the plotly figures by the id of their place in the page: those that the scored levels allow."""
    labels = [study.labels[study.names.index(row["system"])] for row in rows]
    controls = [bool(row["control"]) for row in rows]
    shown: dict[str, list[float]] = {}
    for level in study.levels:
        shown[level] = [_shown(study, level, row) for row in rows]
    drawn = {}
    if study.has_siq:
        siq = [row["siq"] for row in rows]
        hover = [f"{row['system']}\nSpeech IQ {row['siq']:.1f}" for row in rows]
        drawn["bell"] = figures.bell_curve(labels, np.array(siq), controls, hover)
    if study.has_z:
        z, hovers = {}, {}
        for level in study.levels:
            z[level] = np.array([row["categories"][level]["z"] for row in rows])
            hovers[level] = [
                f"{label}: {level.title()} {value:+.2f} ({SCORES[level]} {score:.1f} %)"
                for label, value, score in zip(labels, z[level], shown[level], strict=True)
            ]
        drawn["profiles"] = figures.profiles(labels, z, hovers)
    if against := [level for level in study.levels if level != "remember" and "remember" in study.levels]:
        lines = [row["system"] for row in rows]
        for level in study.levels:
            lines = [f"{line}\n{SCORES[level]} {value:.1f} %" for line, value in zip(lines, shown[level], strict=True)]
        for level in against:
            drawn[SCORES[level]] = figures.against_wer(
                np.array(shown["remember"]),
                np.array(shown[level]),
                f"{SCORES[level].capitalize()}, %",
                labels,
                controls,
                lines,
                study.scoreboard.pool.levels[level].measure.shown_chance,
            )
        drawn["clips-wer"] = figures.clips_against_wer()
    return drawn


def _shown(study: Study, level: str, row: Row) -> float:
    """Return the mean of a system on a level as people read it."""
    return float(study.scoreboard.pool.levels[level].measure.show_score(row["categories"][level]["score"]))


def describe_clips(study: Study, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the systems and all clips without their texts (`clips.list_texts`); lists follow the systems' ranks.

    Returns:
        `{"systems": [{"name", "label", "control"}], "clips": [...]}`. A clip has `id`, `set`, `seconds`, `wer`, `sim`,
        `acc` (per cent; without a level that is not scored) and `weight` (share of the SIQ, per cent).
    """
    order = [study.names.index(row["system"]) for row in rows]
    measured = {
        COLUMNS[level]: dict(zip(study.scoreboard.pool.clips[level], _columns(study, level, order), strict=True))
        for level in study.levels
    }
    weights = _weights(study) if study.has_siq else {}
    clips = []
    for clip in study.clips:
        about: dict[str, Any] = {"id": clip.id, "set": clip.dataset, "seconds": round(clip.seconds, 1)}
        about |= {column: values.get(clip.id) for column, values in measured.items()}
        clips.append(about | {"weight": round(weights.get(clip.id, math.nan), 3)})
    labels = dict(zip(study.names, study.labels, strict=True))
    systems = [{"name": row["system"], "label": labels[row["system"]], "control": row["control"]} for row in rows]
    return {"systems": systems, "clips": clips}


def _columns(study: Study, level: str, order: Sequence[int]) -> list[list[float]]:
    """Return a list per clip: the values of all systems, per cent, in the order of the ranks."""
    values = study.scoreboard.pool.levels[level].show(study.scoreboard.pool.raw[level][order].T)
    shown: list[list[float]] = (np.round(values, 2) + 0.0).tolist()
    return shown


def _weights(study: Study) -> Mapping[str, float]:
    """Return each clip's share of the SIQ: level weight times the clip's share of the level, summed; per cent."""
    scale = study.scale
    total: dict[str, float] = {}
    for level, of_level in scale.levels.items():
        for clip, share in zip(study.scoreboard.pool.clips[level], scale.levels[level].shares.tolist(), strict=True):
            total[clip] = total.get(clip, 0.0) + 100 * of_level.weight * share
    return total


def clip_table(study: Study) -> Grid:
    """Return the table of clips without rows; the page fills it with those of `describe_clips`."""
    levels = [
        Column(COLUMNS[level], f"{title(level)}\n{SCORES[level]} %", ".1f", lower=level != "remember")
        for level in study.levels
    ]
    columns = [Column("id", "Clip"), Column("seconds", "Length\ns", ".1f"), *levels]
    if study.has_siq:
        columns.append(Column("weight", "Weight\n% of the SIQ", ".2f"))
    return Grid("Clips", columns, [])


def compare_pairs(study: Study, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the comparisons of systems as `siq compare` makes them; systems are numbered in the order of the rows.

    Returns:
        `unit` of the clips' parts; `levels` as the clips name their columns (`wer`, `sim`, `acc`), each with `title`
        and `parts`: per clip, how much of `unit` one shown unit of difference is worth; `scores`: per system,
        `[name, unit, value]` of each row of the table; `pairs`: `"0 1"` -> `rows`, `verdict` and `caution`, for the
        pairs that were computed.
    """
    pairs: dict[str, Any] = {}
    numbered = _pairs(study)
    named = [(rows[a]["system"], rows[b]["system"]) for a, b in numbered]
    for (a, b), comparison in zip(numbered, _compare(study, named) if named else [], strict=True):
        pairs[f"{a} {b}"] = _record(comparison)
        pairs[f"{b} {a}"] = _record(comparison.swap())
    return {
        "unit": "SIQ" if study.has_siq else "points in the mean of the levels",
        "levels": _parts(study),
        "scores": [[*_scores(study, row)] for row in rows],
        "pairs": pairs,
    }


def _pairs(study: Study) -> list[tuple[int, int]]:
    """Return the pairs to compute, neighbors of the leaderboard first; none without bootstrap samples."""
    if not study.scoreboard.bars:
        return []
    clips, systems = max(map(len, study.scoreboard.pool.clips.values())), len(study.names)
    every = [(a, a + apart) for apart in range(1, systems) for a in range(systems - apart)]
    return every[: min(MOST_PAIRS, MOST_WORK // clips)]


def _compare(study: Study, pairs: Sequence[tuple[str, str]]) -> list[Comparison]:
    scoreboard = study.scoreboard
    pool, bars, norms = scoreboard.pool, scoreboard.bars, scoreboard.norms
    tied = has_scale(pool, norms) and not study.has_z
    return compare_all(
        pool,
        pairs,
        scale=norms.scale_of(pool.clips) if norms else None,
        rule=study.scale.rule,
        draws=bars.draws if bars else 0,
        seed=bars.seed if bars else 0,
        raw_only=scoreboard.remarks.no_siq if tied else None,
    )


def _record(comparison: Comparison) -> dict[str, Any]:
    rows = []
    for row in comparison.rows:
        each = row.difference
        rows.append([row.label, row.unit, each.a, each.b, *each.estimate[:3], each.p, better_of(row)])
    return {"rows": rows, "verdict": verdict(comparison), "caution": comparison.caution or ""}


def _scores(study: Study, row: Row) -> Iterator[tuple[str, str, float]]:
    """Yield name, unit and value of each score of a system."""
    for level, cell in row["categories"].items():
        yield level.title(), study.scoreboard.pool.levels[level].unit, _shown(study, level, row)
        if cell["z"] is not None:
            yield level.title(), "Z", cell["z"]
    if row["siq"] is not None:
        yield "SIQ", "", row["siq"]


def _parts(study: Study) -> dict[str, dict[str, Any]]:
    """Return each level's column -> its title and how much a clip's difference counts (`Share`)."""
    pool = study.scoreboard.pool
    scale = study.scale if study.has_siq else flat(pool)
    unit = POINTS if study.has_siq else 100.0
    parts = {}
    for level, of_level in scale.levels.items():
        per_z = np.asarray(of_level.discrimination / (of_level.discrimination.sum() * of_level.std))
        worth = (unit * of_level.weight * per_z / pool.levels[level].show(1.0)).round(9).tolist()
        parts[COLUMNS[level]] = {"title": level.title(), "parts": dict(zip(pool.clips[level], worth, strict=True))}
    return parts
