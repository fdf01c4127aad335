"""Write scores as plain data: JSON with every digit, CSV for spreadsheets (docs/reference/scores.md)."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from speechiq.core.files.checksummed import shorten
from speechiq.core.files.plain import OUTPUT_FIX, write_whole
from speechiq.reducer.runs.conditions import ASPECTS
from speechiq.reducer.runs.flags import Flags
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.scores.bootstrap import Bootstrap
from speechiq.reducer.scores.ranking import NO_CONTEXT, Context
from speechiq.reducer.scores.scale import LevelScores, Scores
from speechiq.reducer.stats.interval import CONFIDENCE, Interval

FIX = OUTPUT_FIX
POOLED = "all"


def as_json(scores: Scores, context: Context = NO_CONTEXT) -> dict[str, Any]:
    """Return the ranking as plain data, unrounded, best system first; unknown values are None.

    Returns:
        The keys of docs/reference/scores.md except those of `origin.origin`. Scores have the sign and the unit of
        their column: an error rate falls with ability.
    """
    norms, bootstrap, shifts, remarks = context.norms, context.bootstrap, context.shifts, context.remarks
    mismatched = {of.aspect for of in context.mismatches}
    levels = {level: context.levels[level] for level in scores.levels}
    weights = {level: of.weight for level, of in scores.scale.levels.items()}
    return {
        "weights": None if remarks.no_siq else weights,
        "rule": None if remarks.no_siq else scores.scale.rule,
        "clips": {level: len(of.discrimination) for level, of in scores.scale.levels.items()},
        "norms": norms
        and {
            "name": norms.name,
            "sha256": norms.sha256,
            "systems": norms.systems,
            "match": {aspect: aspect not in mismatched for aspect in ASPECTS},
        },
        "mismatches": [of.text for of in context.mismatches],
        "excluded": context.excluded,
        "excluded_set": context.excluded_set,
        "bootstrap": bootstrap
        and {
            "draws": bootstrap.draws,
            "left_out": bootstrap.left_out,
            "seed": bootstrap.seed,
            "confidence": CONFIDENCE,
            "caution": bootstrap.caution,
        },
        "leave_one_out": None if shifts is None else _name_shifts(scores.systems, shifts),
        "systems": rows_of(scores, context),
        "measures": {level: of.measure.record for level, of in levels.items()},
        "items": {level: of.items for level, of in remarks.counts.items()},
        "limited": {
            level: {"asked": of.asked, "whole": of.whole} for level, of in remarks.counts.items() if of.limited
        },
        "separates": dict(remarks.separates),
        "identical": [list(names) for names in remarks.identical],
        "no_siq": remarks.no_siq,
        "remarks": list(remarks.lines(context.levels)),
    }


def as_csv(
    scores: Scores,
    context: Context = NO_CONTEXT,
    others: Mapping[str, Sequence[dict[str, Any]]] | None = None,
    **common: str,
) -> str:
    """Return the ranking as CSV, one row per system, unrounded; columns `<level>_score` and so on.

    Args:
        scores: Scores of the ranking.
        context: Context of the scores.
        others: Data set -> its rows as `rows_of` makes them.
        **common: Columns that all rows share.
    """
    return rows_as_csv(csv_rows(scores, context, others, **common))


def csv_rows(
    scores: Scores,
    context: Context = NO_CONTEXT,
    others: Mapping[str, Sequence[dict[str, Any]]] | None = None,
    **common: str,
) -> list[dict[str, Any]]:
    """Return the rows of `as_csv`."""
    shared = {
        "excluded_set": shorten(context.excluded_set or ""),
        "norms": context.norms.title if context.norms else "",
        "interval_caution": (context.bootstrap and context.bootstrap.caution) or "",
    }
    return [
        _flatten(row) | shared | {"dataset": dataset} | common
        for dataset, part in ({POOLED: rows_of(scores, context)} | dict(others or {})).items()
        for row in part
    ]


def rows_as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV; a column that a row does not have is empty, as are unknown values.

    A text that a spreadsheet would take for a formula gets a quote in front.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, dict.fromkeys(key for row in rows for key in row), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: without_formula(cell) if isinstance(cell, str) else cell for key, cell in row.items()})
    return text.getvalue()


def without_formula(name: str) -> str:
    """Return a name with a quote in front if a spreadsheet would take it for a formula.

    >>> without_formula("=1+1"), without_formula("openai/whisper-base")
    ("'=1+1", 'openai/whisper-base')
    """
    return "'" * name.lstrip().startswith(("=", "+", "-", "@")) + name


def as_text(content: Mapping[str, Any]) -> str:
    """Return JSON content as the text of a file."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(scores: Scores, path: Path, context: Context = NO_CONTEXT) -> None:
    """Write `as_json` to a file, complete or not at all."""
    write_whole(path, as_text(as_json(scores, context)).encode(), FIX)


def write_csv(scores: Scores, path: Path, context: Context = NO_CONTEXT) -> None:
    """Write `as_csv` to a file, complete or not at all."""
    write_whole(path, as_csv(scores, context).encode(), FIX)


def rows_of(scores: Scores, context: Context) -> list[dict[str, Any]]:
    """Return one dict per system, by rank and then by name; numbers that are NaN are None."""
    bootstrap = context.bootstrap
    about = {system.name: system for system in context.systems}
    rows: list[dict[str, Any]] = []
    for j in np.lexsort((np.array(scores.systems), scores.ranks)):
        name = scores.systems[j]
        system = about.get(name)
        siq = known(scores.siq[j])
        drawn = None if siq is None else bootstrap
        rows.append(
            {
                "system": name,
                "siq": siq,
                "siq_interval": drawn and _interval(drawn.siq, j),
                "siq_std": drawn and float(drawn.siq_std[j]),
                "rank": None if siq is None else int(scores.ranks[j]),
                "rank_probabilities": drawn and drawn.ranks[j].tolist(),
                "control": system and (system.control or None),
                "flags": (system.flags if system else Flags())._asdict(),
                "mismatches": [of.text for of in context.mismatches if of.system == name],
                "levels": {
                    level: _level_row(of, context.levels[level], bootstrap, j) for level, of in scores.levels.items()
                },
            }
        )
    return rows


def _level_row(of: LevelScores, category: Category, bootstrap: Bootstrap | None, j: int) -> dict[str, Any]:
    """Return the numbers of one system on one level; the score has the sign of its column."""
    level, sign = category.name, category.measure.sign
    has_z = known(of.z[j]) is not None
    return {
        "score": known(sign * of.raw[j] + 0.0),
        "direction": category.measure.direction,
        "weighted": known(of.weighted[j]),
        "z": known(of.z[j]),
        "interval": bootstrap and sorted(sign * end + 0.0 for end in _interval(bootstrap.raw[level], j)),
        "z_interval": _interval(bootstrap.z[level], j) if bootstrap and has_z else None,
    }


def flatten_ends(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with a column for each number of a nested one, such as a statistic with an interval.

    >>> flatten_ends({"kappa": {"value": 0.5, "low": 0.4}, "answers": 3})
    {'kappa_value': 0.5, 'kappa_low': 0.4, 'answers': 3}
    """
    cells: dict[str, Any] = {}
    for name, value in row.items():
        cells |= {f"{name}_{end}": of for end, of in value.items()} if isinstance(value, Mapping) else {name: value}
    return cells


def known(value: float) -> float | None:
    """Return a number as plain data; None for one that is not finite.

    >>> known(np.float64(0.5)), known(math.nan), known(-math.inf)
    (0.5, None, None)
    """
    return float(value) if math.isfinite(value) else None


def _flatten(row: dict[str, Any]) -> dict[str, Any]:
    cells = {"rank": row["rank"], "system": row["system"], "siq": row["siq"]}
    for level, of in row["levels"].items():
        cells |= {f"{level}_{part}": of[part] for part in ("score", "direction", "weighted", "z")}
    intervals = {"siq": row["siq_interval"]}
    for level, of in row["levels"].items():
        intervals |= {level: of["interval"], f"{level}_z": of["z_interval"]}
    for name, interval in intervals.items():
        cells |= dict(zip((f"{name}_low", f"{name}_high"), interval or (None, None), strict=True))
    cells |= {"siq_std": row["siq_std"], "control": row["control"]} | row["flags"]
    return cells | {"mismatches": "; ".join(row["mismatches"])}


def _interval(interval: Interval, j: int) -> list[float]:
    return [float(interval.low[j]), float(interval.high[j])]


def _name_shifts(systems: Sequence[str], shifts: np.ndarray) -> dict[str, dict[str, float | None]]:
    return {
        left: {name: float(shift) if np.isfinite(shift) else None for name, shift in zip(systems, row, strict=True)}
        for left, row in zip(systems, shifts, strict=True)
    }
