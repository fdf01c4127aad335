"""Show how well metrics predict failure: grids, the verdict in words, and records for files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from speechiq.core.console import count_of
from speechiq.reducer.stats.bootstrap import describe_samples
from speechiq.reducer.stats.coverage import caution_of_raw
from speechiq.reducer.stats.estimate import UNDEFINED, Estimate
from speechiq.reducer.stats.grid import Column, Grid
from speechiq.reducer.studies.validity.prediction import Gap, Prediction
from speechiq.reducer.studies.validity.predictors import CAUGHT, Predictor, Quality, Threshold

NAMES = {"auc": "AUC", "efron": "Efron R2", "mcfadden": "McFadden R2"}


def as_grids(prediction: Prediction) -> Iterator[Grid]:
    """Yield the grid of metrics, that of refitted combinations if there are any, and that of thresholds."""
    yield _metrics(prediction)
    if prediction.combinations:
        yield _combinations(prediction)
    yield _thresholds(prediction)


def verdict(prediction: Prediction) -> str:
    """Return which metrics predict failure better or worse than the baseline, by their intervals, in one sentence."""
    if not prediction.draws:
        return "no verdict: it rests on the intervals, which --bootstrap 0 leaves out"
    gaps = [gap for of in prediction.predictors if (gap := prediction.gap(of.name))]
    groups = {
        "better": [gap.a for gap in gaps if gap.difference.side > 0],
        "worse": [gap.a for gap in gaps if gap.difference.side < 0],
    }
    found = [
        f"{', '.join(names)} {'predicts' if len(names) == 1 else 'predict'} failure {how} than {prediction.baseline}"
        for how, names in groups.items()
        if names
    ]
    rest = [gap.a for gap in gaps if gap.difference.side == 0]
    if rest:
        found.append(f"no difference from {prediction.baseline} beyond chance: {', '.join(rest)}")
    return "; ".join(found) or f"{prediction.baseline} alone"


def notes_of(prediction: Prediction) -> Iterator[str]:
    """Yield the lines below the tables."""
    yield (
        f"{count_of(prediction.failures, 'failure')} among {count_of(prediction.items, 'item')} on "
        f"{count_of(prediction.clips, 'clip')}, "
        f"{count_of(len(prediction.systems), 'system')}; labels: "
        f"{prediction.labels}"
    )
    yield "AUC: how often a failure has a worse value than a success; 0.5 is chance"
    yield "R2 and thresholds are in-sample; p is not corrected for the number of metrics"
    if prediction.draws:
        yield describe_samples(prediction.draws, prediction.seed)
        if prediction.left_out:
            yield f"{prediction.left_out} samples had only failures or only successes and do not count"
        yield from filter(None, [caution_of_raw(prediction.clips)])
    for of in prediction.predictors:
        if of.opposite:
            yield (
                f"{of.name}: failures have better values than successes, although in the runs {of.direction} is "
                "better; check its direction. R2 and validated figures fit either direction"
            )
    yield from prediction.notes


def as_content(prediction: Prediction) -> dict[str, Any]:
    """Return the content of the JSON file."""
    numbers = ("labels", "items", "failures", "clips", "systems", "draws", "left_out", "seed", "baseline", "notes")
    return {
        **{name: getattr(prediction, name) for name in numbers},
        "predictors": [_record(predictor) for predictor in prediction.predictors],
        "differences": [{"metric_a": gap.a, "metric_b": gap.b} | gap.difference.record for gap in prediction.gaps],
        "combinations": [of._asdict() | {"weights": of.weights or None} for of in prediction.combinations],
    }


def as_rows(prediction: Prediction) -> list[dict[str, Any]]:
    """Return one record per metric, for CSV."""
    return [
        {
            "metric": predictor.name,
            "direction": predictor.direction,
            **predictor.in_sample._asdict(),
            "auc": _auc(predictor),
            "separated": predictor.separated,
            "opposite_direction": predictor.opposite,
            "undefined": predictor.undefined,
            "validated": predictor.validated._asdict(),
            "baseline": prediction.baseline,
            **_difference(prediction.gap(predictor.name)),
            **{
                f"{name}_at_{round(100 * threshold.aim)}": value
                for threshold in predictor.thresholds
                for name, value in threshold._asdict().items()
                if name != "aim"
            },
            **{name: getattr(prediction, name) for name in ("items", "failures", "clips")},
        }
        for predictor in prediction.predictors
    ]


def show_threshold(predictor: Predictor, threshold: Threshold) -> str:
    """Return a threshold as a rule, such as `>= 0.25`."""
    return f"{'<=' if predictor.sign > 0 else '>='} {threshold.value:.4g}"


def show_remark(of: Predictor) -> str:
    """Return that a predictor points the other way or separates failures from successes; empty for an ordinary one."""
    share = "" if of.separated == 1 else f"{100 * of.separated:.0f} % "
    return ", ".join(["opposite direction"] * of.opposite + [f"{share}separated"] * bool(of.separated))


def _metrics(prediction: Prediction) -> Grid:
    columns = [
        Column("metric", "Metric"),
        Column("auc", "AUC\n95 % interval", ".3f"),
        Column("difference", f"minus {prediction.baseline}\n95 % interval", "+.3f"),
        Column("difference_p", "p", ".3f"),
        Column("efron", NAMES["efron"], ".3f"),
        Column("mcfadden", NAMES["mcfadden"], ".3f"),
        Column("remark", ""),
    ]
    rows = [
        {"metric": predictor.name, **predictor.in_sample._asdict(), "auc": _auc(predictor)}
        | (_difference(gap) if (gap := prediction.gap(predictor.name)) else {})
        | {"remark": show_remark(predictor)}
        for predictor in prediction.predictors
    ]
    return Grid("What predicts failure?", columns, rows)


def _combinations(prediction: Prediction) -> Grid:
    columns = [Column("form", "Form as given; fitted weights")]
    for name in Quality._fields:
        columns += [
            Column(f"in_sample_{name}", f"{NAMES[name]}\nin-sample", ".3f"),
            Column(f"validated_{name}", "validated", ".3f"),
        ]
    rows = []
    for combination in prediction.combinations:
        weights = ", ".join(f"{name} {weight:.3g}" for name, weight in combination.weights.items()) or "separated"
        row: dict[str, Any] = {"form": f"{combination.form}\n({weights})"}
        for name in Quality._fields:
            row[f"in_sample_{name}"] = _finite(getattr(combination.in_sample, name))
            row[f"validated_{name}"] = _finite(getattr(combination.validated, name))
        rows.append(row)
    notes = ["validated: each item by weights that were fitted to other clips"]
    return Grid("Combinations with weights fitted to the labels", columns, rows, notes)


def _thresholds(prediction: Prediction) -> Grid:
    headings = {f"alarms_{aim}": f"catch {100 * aim:.0f} %\nfalse alarms" for aim in CAUGHT}
    columns = [Column("metric", "Metric"), *(Column(name, heading, ".0f") for name, heading in headings.items())]
    rows: list[dict[str, Any]] = [
        {"metric": predictor.name}
        | {
            f"alarms_{threshold.aim}": f"{show_threshold(predictor, threshold)}\n{100 * threshold.false_alarms:.0f} %"
            for threshold in predictor.thresholds
        }
        for predictor in prediction.predictors
    ]
    notes = ["false alarms: share of the successes that the threshold flags as well"]
    return Grid("Thresholds that catch failures", columns, rows, notes)


def _record(predictor: Predictor) -> dict[str, Any]:
    names = ("in_sample", "validated", "slope", "intercept", "separated", "undefined", "by_system", "calibration")
    return {
        "metric": predictor.name,
        "direction": predictor.direction,
        "auc": _auc(predictor),
        "opposite_direction": predictor.opposite,
        **{name: getattr(predictor, name) for name in (*names, "thresholds")},
    }


def _auc(predictor: Predictor) -> Estimate:
    return Estimate(predictor.in_sample.auc, predictor.low, predictor.high)


def _difference(gap: Gap | None) -> dict[str, Any]:
    if gap is None:
        return {"difference": UNDEFINED, "difference_p": None}
    return {"difference": gap.difference.estimate, "difference_p": gap.difference.p}


def _finite(number: float) -> float:
    return number if math.isfinite(number) else math.nan
