"""Compare metrics by how well they predict failure, on the same draws of clips, combine them, and show the result."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.stats import classifier
from speechiq.reducer.stats.bootstrap import describe_samples, number_clusters, resample
from speechiq.reducer.stats.classifier import Fit, auc, validate
from speechiq.reducer.stats.estimate import Difference, Estimate
from speechiq.reducer.stats.grid import (
    Column,
    Grid,
    Important,
    count_units,
    flatten,
    name_units,
)
from speechiq.reducer.studies.agreement import agreement_grid
from speechiq.reducer.studies.prediction.data import (
    ALL_ITEMS,
    KeptItems,
    Labels,
    Metric,
    Tables,
    Units,
    gather_units,
    label_answers,
    leave_out_items,
)
from speechiq.reducer.studies.prediction.labels import read_labels, refuse_alike
from speechiq.reducer.studies.prediction.predictors import (
    CAUGHT,
    Predictor,
    Quality,
    find_thresholds,
    judge_quality,
    list_bins,
    read_form,
    show_form,
)
from speechiq.reducer.studies.result import StudyResult

if TYPE_CHECKING:
    import pandas as pd

#: The metric that others are compared with, if the runs have it.
BASELINE = "wer"
NAMES = {"auc": "AUC", "efron": "Efron R2", "mcfadden": "McFadden R2"}


class Combination(NamedTuple):
    """Hold a linear form whose weights the items themselves chose.

    Attributes:
        weights: Metric -> its weight in the fit to all items, relative to that of the first; None if separated.
        validated: Of fits to the other clips.
    """

    form: str
    weights: dict[str, float] | None
    in_sample: Quality
    validated: Quality


class Prediction(NamedTuple):
    """Describe how well metrics predict failure.

    Attributes:
        labels: Source of the labels, in words.
        items, failures, clips, clusters: Numbers of labeled items, of those that failed, of their clips, and of the
            clusters of these.
        left_out: How many draws had only failures or only successes, and do not count.
        baseline: The metric that the others are compared with.
        predictors: Metrics in the order of the runs, then the given linear forms.
        gaps: Metrics (a, b) -> the AUC of a minus that of b; p is not corrected for the number of pairs.
        combinations: The linear forms with weights fitted to the items.
        risks: Predictor -> its values, so that they grow with the risk of failure.
    """

    labels: str
    items: int
    failures: int
    clips: int
    clusters: int
    systems: tuple[str, ...]
    draws: int
    left_out: int
    seed: int
    baseline: str
    predictors: list[Predictor]
    gaps: dict[tuple[str, str], Difference]
    combinations: list[Combination]
    notes: list[str]
    units: Units
    risks: dict[str, np.ndarray]

    def to_frame(self) -> pd.DataFrame:
        """Return the rows of the CSV file as a pandas frame, one row per metric.

        Returns:
            Index `metric`. Columns: `auc` with the ends `auc_low` and `auc_high` of its 95 % interval; `efron` and
            `mcfadden`, R2 of a regression on this metric; `validated_auc` and `validated_efron`, of fits to other
            clips; `difference`, the AUC minus that of the `baseline`, with `difference_low`, `difference_high` and
            `difference_p`; `separated`, and more.
        """
        import pandas as pd

        frame = pd.DataFrame([flatten(row) for row in self.rows]).set_index("metric")
        return frame.astype({name: float for name, column in frame.items() if column.isna().all()})

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return one record per metric, for tables and CSV."""
        return [*map(self._row, self.predictors)]

    def _row(self, predictor: Predictor) -> dict[str, Any]:
        gap = self.gap(predictor.metric)
        row = {
            "metric": predictor.metric,
            "direction": predictor.direction,
            **predictor.in_sample._asdict(),
            "auc": predictor.auc,
            "separated": predictor.separated,
            "opposite_direction": predictor.opposite,
            "undefined": predictor.undefined,
            "validated": predictor.validated._asdict(),
            "baseline": self.baseline,
            "difference": gap and gap.estimate,
            "difference_p": gap and gap.p,
        }
        for threshold in predictor.thresholds:
            for name, value in threshold._asdict().items():
                if name != "aim":
                    row[f"{name}_at_{100 * threshold.aim:.0f}"] = value
        sizes = {"items": self.items, "failures": self.failures, "clips": self.clips, "clusters": self.clusters}
        return row | sizes

    def gap(self, metric: str) -> Difference | None:
        """Return the difference of a metric from the baseline; None for the baseline."""
        return self.gaps.get((metric, self.baseline))


def predict_failure(
    units: Units,
    *,
    combine: Sequence[str] = (),
    against: str | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> Prediction:
    """Measure how well each metric predicts failure.

    Args:
        against: The metric that others are compared with; None means `wer`, or the first metric.
        draws: Number of draws of clips; 0 leaves intervals out.
    """
    refuse_alike([not failed for failed in units.failed], units.labels)
    groups = number_clusters(units.clips, units.clusters)
    if groups.max() == 0:
        unit = "cluster" if len(set(units.clips)) > 1 else "clip"
        raise SpeechIQError(f"a single {unit} has no interval and no folds", f"label items of more {unit}s")
    forms = [read_form(text, units.metrics) for text in combine]
    metrics = units.metrics | {show_form(form): _combine(units, form) for form in forms}
    baseline = against or (BASELINE if BASELINE in metrics else next(iter(metrics)))
    if baseline not in metrics:
        raise SpeechIQError(f"--against {baseline}", f"not among the metrics {', '.join(metrics)}")
    risks = {name: metric.risk for name, metric in metrics.items()}

    def areas(counts: np.ndarray) -> np.ndarray:
        return np.column_stack([auc(risk, units.failed, counts) for risk in risks.values()])

    resampled = resample(areas, units.clips, units.clusters, draws=draws, seed=seed)
    left_out = int(np.isnan(resampled.values[:, 0]).sum())
    if 2 * left_out > draws:
        raise SpeechIQError(
            f"{left_out} of {draws} draws of clips have only failures or only successes",
            "label more items, or give --bootstrap 0",
        )
    estimates = dict(zip(metrics, resampled.estimates, strict=True))
    predictors = [
        _measure_predictor(name, metric, units, groups, estimates[name], seed) for name, metric in metrics.items()
    ]
    return Prediction(
        labels=units.labels,
        items=len(units.items),
        failures=int(units.failed.sum()),
        clips=resampled.clips,
        clusters=resampled.clusters,
        systems=tuple(dict.fromkeys(units.systems)),
        draws=draws,
        left_out=left_out,
        seed=seed,
        baseline=baseline,
        predictors=predictors,
        gaps={
            (name_a, name_b): resampled.difference(a, b)
            for (a, name_a), (b, name_b) in permutations(enumerate(metrics), 2)
        },
        combinations=[_refit(form, units, groups, seed) for form in forms],
        notes=units.notes,
        units=units,
        risks=risks,
    )


def _combine(units: Units, form: dict[str, float]) -> Metric:
    """Return a linear form as a metric; it has the direction of its first term."""
    first = next(iter(form))
    values = np.sum([weight * units.metrics[name].values for name, weight in form.items()], axis=0)
    sign = units.metrics[first].sign * float(np.sign(form[first]))
    return Metric(values, sign, max(units.metrics[name].undefined for name in form))


def _measure_predictor(
    name: str, metric: Metric, units: Units, groups: np.ndarray, area: Estimate, seed: int
) -> Predictor:
    failed, systems = units.failed, np.array(units.systems)
    fitted, in_sample, validated, probability = _fit(metric.values[:, None], failed, groups, seed, area.value)
    return Predictor(
        metric=name,
        direction="higher" if metric.sign > 0 else "lower",
        auc=area,
        in_sample=in_sample,
        validated=validated,
        slope=float(fitted.coefficients[0]),
        intercept=fitted.intercept,
        separated=fitted.separated,
        undefined=metric.undefined,
        by_system={
            system: float(auc(metric.risk[systems == system], failed[systems == system])[0])
            for system in dict.fromkeys(units.systems)
        },
        calibration=list_bins(probability, failed),
        thresholds=find_thresholds(metric.values, metric.sign, failed),
    )


def _refit(form: dict[str, float], units: Units, groups: np.ndarray, seed: int) -> Combination:
    covariates = np.column_stack([units.metrics[name].values for name in form])
    fitted, in_sample, validated, _ = _fit(covariates, units.failed, groups, seed)
    first = fitted.coefficients[0]
    weights = None
    if np.isfinite(first) and first:
        weights = dict(zip(form, (fitted.coefficients / abs(first)).tolist(), strict=True))
    return Combination(show_form(form), weights, in_sample, validated)


def _fit(
    covariates: np.ndarray, failed: np.ndarray, groups: np.ndarray, seed: int, area: float | None = None
) -> tuple[Fit, Quality, Quality, np.ndarray]:
    """Return the fit to all items, its quality, that of fits to other clips, and the probabilities of these fits."""
    fitted = classifier.fit(covariates, failed)
    probability, validated_area = validate(covariates, failed, groups, seed)
    validated = judge_quality(failed, probability, validated_area)
    return fitted, judge_quality(failed, fitted.probability, area), validated, probability


def read_sources(paths: Sequence[Path], tables: Tables) -> list[Labels]:
    """Read files of labels, and check them against runs."""
    items = tables.items
    sources = [read_labels(path, items) for path in paths]
    for a, b in combinations(sources, 2):
        if a.success.keys().isdisjoint(b.success):
            raise SpeechIQError(f"{a.name} and {b.name} share no item", fix="label the same items")
    return sources


def gather_runs(
    tables: Tables,
    sources: Sequence[Labels] = (),
    *,
    metrics: Collection[str] | None = None,
    kept: KeptItems = ALL_ITEMS,
) -> Units:
    """Join metrics with the labels of the first source, or else of the answers in the runs.

    Options are those of `leave_out_items` and `gather_units`.
    """
    labels = sources[0] if sources else label_answers(tables)
    labels = leave_out_items(labels, tables, kept)
    return gather_units(tables.columns, labels, metrics, kept)


def as_result(
    prediction: Prediction, tasks: Sequence[TaskRun] = (), agreements: Sequence[Mapping[str, Any]] = ()
) -> StudyResult:
    """Return a prediction as a result, whose first line is the verdict; pages draw the prediction itself.

    Its grids are that of `agreements` of labels if there are any, that of metrics, that of refitted combinations if
    there are any, and that of thresholds.
    """
    grids = []
    if agreements:
        grids.append(agreement_grid("Agreement of labels", agreements, ["equal", "kappa"]))
    grids.append(_metric_grid(prediction))
    if prediction.combinations:
        grids.append(_combination_grid(prediction))
    grids.append(_threshold_grid(prediction))
    return StudyResult(
        "speechiq-prediction",
        grids,
        _as_content(prediction) | {"agreement": agreements},
        prediction.rows,
        [Important(_verdict(prediction)), *_notes(prediction)],
        tasks,
        details=prediction,
    )


def _verdict(prediction: Prediction) -> str:
    """Return which metrics predict failure better or worse than the baseline, by their intervals, in one sentence."""
    if not prediction.draws:
        return "no verdict: it rests on the intervals, which --bootstrap 0 leaves out"
    gaps = {name: gap for (name, baseline), gap in prediction.gaps.items() if baseline == prediction.baseline}
    groups = {
        "better": [name for name, gap in gaps.items() if gap.side == 1],
        "worse": [name for name, gap in gaps.items() if gap.side == -1],
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


def _notes(prediction: Prediction) -> Iterator[str]:
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
    for predictor in prediction.predictors:
        if predictor.opposite:
            yield Important(
                f"{predictor.metric}: failures have better values than successes, although in the runs "
                f"{predictor.direction} is better; check its direction. R2 and validated figures fit either direction"
            )
    yield from prediction.notes


def _as_content(prediction: Prediction) -> dict[str, Any]:
    """Return the content of the JSON file."""
    apart = ("predictors", "gaps", "units", "risks")
    return {
        **{name: value for name, value in prediction._asdict().items() if name not in apart},
        "predictors": [
            predictor._asdict() | {"opposite_direction": predictor.opposite} for predictor in prediction.predictors
        ],
        "differences": [{"metric_a": a, "metric_b": b} | gap.record for (a, b), gap in prediction.gaps.items()],
    }


def _metric_grid(prediction: Prediction) -> Grid:
    columns = [
        Column("metric", "Metric"),
        Column("auc", "AUC", ".3f"),
        Column("difference", f"minus {prediction.baseline}", "+.3f"),
        Column("difference_p", "p", ".3f"),
        Column("efron", NAMES["efron"], ".3f"),
        Column("mcfadden", NAMES["mcfadden"], ".3f"),
        Column("remark", ""),
    ]
    rows = []
    for row, predictor in zip(prediction.rows, prediction.predictors, strict=True):
        known = {name: cell for name, cell in row.items() if cell is not None}
        rows.append(known | {"remark": predictor.remark})
    return Grid("What predicts failure?", columns, rows)


def _combination_grid(prediction: Prediction) -> Grid:
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


def _threshold_grid(prediction: Prediction) -> Grid:
    headings = {f"{aim}": f"catch {100 * aim:.0f} %\nfalse alarms" for aim in CAUGHT}
    columns = [Column("metric", "Metric"), *(Column(name, heading, ".0f") for name, heading in headings.items())]
    rows = []
    for predictor in prediction.predictors:
        row = {"metric": predictor.metric}
        for threshold in predictor.thresholds:
            row[f"{threshold.aim}"] = f"{predictor.show(threshold)}\n{100 * threshold.false_alarms:.0f} %"
        rows.append(row)
    notes = ["false alarms: share of the successes that the threshold flags as well"]
    return Grid("Thresholds that catch failures", columns, rows, notes)
