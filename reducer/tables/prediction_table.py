"""Show how well metrics predict failure: tables for the terminal, and records for files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.console import count_of, printable
from speechiq.reducer.stats.coverage import caution_of_raw
from speechiq.reducer.stats.estimate import plain
from speechiq.reducer.studies.validity.prediction import Gap, Prediction
from speechiq.reducer.studies.validity.predictors import CAUGHT, Predictor, Quality, Threshold
from speechiq.reducer.tables.records import known
from speechiq.reducer.tables.table import UNKNOWN


def as_tables(prediction: Prediction) -> Iterator[Table]:
    """Yield the table of metrics, that of refitted combinations if there are any, and that of thresholds."""
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
        yield f"{prediction.draws} draws of clips, seed {prediction.seed}"
        if prediction.left_out:
            yield f"{prediction.left_out} draws had only failures or only successes and do not count"
        yield from filter(None, [caution_of_raw(prediction.clips)])
    for of in prediction.predictors:
        if of.opposite:
            yield (
                f"{of.name}: failures have better values than successes, although in the runs {of.direction} is "
                "better; check its direction. R2 and validated figures fit either direction"
            )
    yield from prediction.notes


def as_json(prediction: Prediction) -> dict[str, Any]:
    """Return the prediction as plain data, unrounded; unknown values are None."""
    numbers = ("items", "failures", "clips", "systems", "draws", "left_out", "seed", "baseline", "notes")
    return {
        "labels": prediction.labels,
        **{name: getattr(prediction, name) for name in numbers},
        "predictors": [_record(of) for of in prediction.predictors],
        "differences": [{"metric_a": of.a, "metric_b": of.b, **plain(of.difference)} for of in prediction.gaps],
        "combinations": [
            {
                "form": of.form,
                "weights": of.weights or None,
                "in_sample": _plain(of.in_sample._asdict()),
                "validated": _plain(of.validated._asdict()),
            }
            for of in prediction.combinations
        ],
    }


def as_rows(prediction: Prediction) -> list[dict[str, Any]]:
    """Return one flat record per metric, for CSV."""
    rows = []
    for of in prediction.predictors:
        gap = prediction.gap(of.name)
        rows.append(
            {
                "metric": of.name,
                "direction": of.direction,
                **{name: known(getattr(of.in_sample, name)) for name in Quality._fields},
                **_plain({"auc_low": of.low, "auc_high": of.high, "separated": of.separated}),
                "opposite_direction": of.opposite,
                "undefined": of.undefined,
                **{f"validated_{name}": known(value) for name, value in of.validated._asdict().items()},
                "baseline": prediction.baseline,
                **{f"difference_{name}": known(value) for name, value in _numbers(gap).items()},
                **{
                    f"{name}_at_{round(100 * at.aim)}": known(value)
                    for at in of.thresholds
                    for name, value in at._asdict().items()
                    if name != "aim"
                },
                "items": prediction.items,
                "failures": prediction.failures,
                "clips": prediction.clips,
            }
        )
    return rows


def show_threshold(predictor: Predictor, threshold: Threshold) -> str:
    """Return a threshold as a rule, such as `>= 0.25`."""
    return f"{'<=' if predictor.sign > 0 else '>='} {threshold.value:.4g}"


def show_interval(value: float, low: float, high: float, sign: bool = False) -> str:
    """Return a number with its interval, which is left out if it is NaN."""
    form = "+z.3f" if sign else "z.3f"
    return f"{value:{form}}" + (f" [{low:{form}}, {high:{form}}]" if not math.isnan(low) else "")


def _metrics(prediction: Prediction) -> Table:
    table = _table("What predicts failure?")
    table.add_column("Metric", overflow="fold")
    for heading in ("AUC [95 %]", f"minus {prediction.baseline} [95 %]", "p", "Efron R2", "McFadden R2"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for of in prediction.predictors:
        gap = prediction.gap(of.name)
        table.add_row(
            Text(printable(of.name)),
            show_interval(of.in_sample.auc, of.low, of.high),
            gap.difference.estimate.show("+z.3f") if gap else "",
            f"{gap.difference.p:.3f}" if gap and not math.isnan(gap.difference.p) else "",
            f"{of.in_sample.efron:.3f}",
            f"{of.in_sample.mcfadden:.3f}",
            show_remark(of),
        )
    return table


def show_remark(of: Predictor) -> str:
    """Return that a predictor points the other way or separates failures from successes; empty for an ordinary one."""
    share = "" if of.separated == 1 else f"{100 * of.separated:.0f} % "
    return ", ".join(["opposite direction"] * of.opposite + [f"{share}separated"] * bool(of.separated))


def _combinations(prediction: Prediction) -> Table:
    table = _table("Combinations with weights fitted to the labels")
    table.add_column("Form as given; fitted weights", overflow="fold")
    for heading in (
        "AUC\nin-sample",
        "validated",
        "Efron R2\nin-sample",
        "validated",
        "McFadden R2\nin-sample",
        "validated",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for of in prediction.combinations:
        weights = ", ".join(f"{name} {weight:.3g}" for name, weight in of.weights.items()) or "separated"
        pairs = zip(of.in_sample, of.validated, strict=True)
        numbers = [f"{part:.3f}" if math.isfinite(part) else UNKNOWN for pair in pairs for part in pair]
        table.add_row(Text(f"{printable(of.form)}\n({printable(weights)})"), *numbers)
    table.caption = Text("validated: each item by weights that were fitted to other clips")
    return table


def _thresholds(prediction: Prediction) -> Table:
    table = _table("Thresholds that catch failures")
    table.add_column("Metric", overflow="fold")
    for aim in CAUGHT:
        table.add_column(f"catch {100 * aim:.0f} %\nfalse alarms", justify="right", no_wrap=True)
    for of in prediction.predictors:
        cells = (f"{show_threshold(of, at)}\n{100 * at.false_alarms:.0f} %" for at in of.thresholds)
        table.add_row(Text(printable(of.name)), *cells)
    table.caption = Text("false alarms: share of the successes that the threshold flags as well")
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))


def _record(of: Predictor) -> dict[str, Any]:
    return {
        "metric": of.name,
        "direction": of.direction,
        "in_sample": _plain(of.in_sample._asdict()),
        "auc_interval": None if math.isnan(of.low) else [of.low, of.high],
        "validated": _plain(of.validated._asdict()),
        **_plain({"slope": of.slope, "intercept": of.intercept}),
        "separated": of.separated,
        "opposite_direction": of.opposite,
        "undefined": of.undefined,
        "by_system": _plain(of.by_system),
        "calibration": [bin._asdict() for bin in of.calibration],
        "thresholds": [at._asdict() for at in of.thresholds],
    }


def _numbers(gap: Gap | None) -> dict[str, float]:
    names = ("difference", "low", "high", "p")
    return {name: gap.difference.record[name] if gap else math.nan for name in names}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: known(value) if isinstance(value, float) else value for name, value in values.items()}
