"""Show how well metrics predict failure: grids, the verdict in words, and records for files."""

from collections.abc import Iterator
from typing import Any

from speechiq.core.console import count_of
from speechiq.reducer.stats.bootstrap import describe_samples
from speechiq.reducer.stats.grid import (
    INTERVAL,
    Column,
    Grid,
    Important,
    caution_lines,
    caution_of_raw,
    count_units,
    flatten,
    name_units,
)
from speechiq.reducer.studies.validity.prediction import Prediction
from speechiq.reducer.studies.validity.predictors import CAUGHT, Quality

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
    gaps = {name: gap for (name, baseline), gap in prediction.gaps.items() if baseline == prediction.baseline}
    groups = {
        how: [name for name, gap in gaps.items() if gap.side == side]
        for how, side in {"better": 1, "worse": -1}.items()
    }
    clauses = [
        f"{', '.join(names)} {'predicts' if len(names) == 1 else 'predict'} failure {how} than {prediction.baseline}"
        for how, names in groups.items()
        if names
    ]
    rest = [name for name, gap in gaps.items() if gap.side == 0]
    if rest:
        clauses.append(f"no difference from {prediction.baseline} beyond chance: {', '.join(rest)}")
    return "; ".join(clauses) or f"{prediction.baseline} alone"


def notes_of(prediction: Prediction) -> Iterator[str]:
    """Yield the lines below the tables."""
    yield (
        f"{count_of(prediction.failures, 'failure')} among {count_of(prediction.items, 'item')} on "
        f"{count_units(prediction.clips, prediction.clusters)}, {count_of(len(prediction.systems), 'system')}; labels: "
        f"{prediction.labels}"
    )
    yield "AUC: how often a failure has a worse value than a success; 0.5 is chance"
    yield "R2 and thresholds are in-sample; p is not corrected for the number of metrics"
    if prediction.draws:
        yield describe_samples(prediction.draws, prediction.seed, name_units([prediction]))
        if prediction.left_out:
            yield f"{prediction.left_out} samples had only failures or only successes and do not count"
        yield from caution_lines(caution_of_raw(prediction.clips, prediction.clusters))
    for predictor in prediction.predictors:
        if predictor.opposite:
            yield Important(
                f"{predictor.metric}: failures have better values than successes, although in the runs "
                f"{predictor.direction} is better; check its direction. R2 and validated figures fit either direction"
            )
    yield from prediction.notes


def as_content(prediction: Prediction) -> dict[str, Any]:
    """Return the content of the JSON file."""
    apart = ("predictors", "gaps", "units", "risks")
    return {
        **{name: value for name, value in prediction._asdict().items() if name not in apart},
        "predictors": [
            predictor._asdict() | {"opposite_direction": predictor.opposite} for predictor in prediction.predictors
        ],
        "differences": [{"metric_a": a, "metric_b": b} | gap.record for (a, b), gap in prediction.gaps.items()],
    }


def _metrics(prediction: Prediction) -> Grid:
    columns = [
        Column("metric", "Metric"),
        Column("auc", f"AUC\n{INTERVAL}", ".3f"),
        Column("difference", f"minus {prediction.baseline}\n{INTERVAL}", "+.3f"),
        Column("difference_p", "p", ".3f"),
        Column("efron", NAMES["efron"], ".3f"),
        Column("mcfadden", NAMES["mcfadden"], ".3f"),
        Column("remark", ""),
    ]
    rows = [
        {name: cell for name, cell in row.items() if cell is not None} | {"remark": predictor.remark}
        for row, predictor in zip(prediction.rows, prediction.predictors, strict=True)
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
        weights = ", ".join(f"{name} {weight:.3g}" for name, weight in (combination.weights or {}).items())
        qualities = {"in_sample": combination.in_sample._asdict(), "validated": combination.validated._asdict()}
        rows.append({"form": f"{combination.form}\n({weights or 'separated'})"} | flatten(qualities))
    notes = ["validated: each item by weights that were fitted to other clips"]
    return Grid("Combinations with weights fitted to the labels", columns, rows, notes)


def _thresholds(prediction: Prediction) -> Grid:
    headings = {f"{aim}": f"catch {100 * aim:.0f} %\nfalse alarms" for aim in CAUGHT}
    columns = [Column("metric", "Metric"), *(Column(name, heading, ".0f") for name, heading in headings.items())]
    rows = [
        {"metric": predictor.metric}
        | {
            f"{threshold.aim}": f"{predictor.show(threshold)}\n{100 * threshold.false_alarms:.0f} %"
            for threshold in predictor.thresholds
        }
        for predictor in prediction.predictors
    ]
    notes = ["false alarms: share of the successes that the threshold flags as well"]
    return Grid("Thresholds that catch failures", columns, rows, notes)
