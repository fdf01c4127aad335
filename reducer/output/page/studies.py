"""Make the pages of `siq study robustness`, `size` and `predict`, and sections of the report beside its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import plotly.graph_objects as go

from speechiq.metrics.latency import FIRST_AUDIO, FIRST_TOKEN, TOTAL
from speechiq.reducer.output.page.figures import INK, MUTED, SOFT, STYLE, draw_systems, error_bars, escape
from speechiq.reducer.output.page.identity import short_names
from speechiq.reducer.output.page.page import HEIGHT, Section, describe_origin, render
from speechiq.reducer.output.side_tables import TIME_NAMES, Latencies, SideTables
from speechiq.reducer.runs.conditions import CLEAN
from speechiq.reducer.scores.suites import Found, ScoringOptions
from speechiq.reducer.stats.grid import Cell, Column, Grid
from speechiq.reducer.studies.listening import study_listening
from speechiq.reducer.studies.prediction.study import NAMES, Prediction
from speechiq.reducer.studies.result import StudyResult
from speechiq.reducer.studies.robustness import Curve, Robustness, group_curves, list_strengths
from speechiq.reducer.studies.size import KINDS
from speechiq.reducer.studies.size import SCHEMA as OF_SIZES

#: Colors that differ for people with any color vision, in both themes (Okabe and Ito).
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#7a7a7a")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star")
DASHES = ("solid", "dash", "dot")
LEGEND = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"color": INK}}
#: Distance of two systems at one strength, at most that which keeps all systems within `SPREAD`, and the empty space
#: beside the first and the last strength; in distances between strengths.
APART, SPREAD, MARGIN = 0.05, 0.4, 0.3
#: Powers of ten with a letter on the axis of sizes; those above are written as powers.
LETTERS = {6: "M", 7: "0M", 8: "00M", 9: "B", 10: "0B", 11: "00B", 12: "T", 13: "0T", 14: "00T"}
BAND = "Line by least squares over the logarithm, with its 95 % band over bootstrap samples of the clips"
DIFFERENCES = (
    "AUC of the row's metric minus that of the column's, with its 95 % interval, on the same bootstrap samples of "
    "clips. Not corrected for the number of pairs."
)


def render_study(result: StudyResult, command: str) -> str:
    """Return the page of the result of a study that has one; `command` is the command line that made it."""
    made = describe_origin(result.tasks, command)
    if isinstance(result.details, Prediction):
        return _render_prediction(result, result.details, made)
    if result.schema == OF_SIZES:
        return _render_sizes(result, made)
    return _render_robustness(result, result.details, made)


def _render_sizes(result: StudyResult, made: Mapping[str, str]) -> str:
    """Return the page of SIQ against size."""
    systems, line = result.grids
    kind, slope = KINDS[result.content["by"]].lower(), result.content["line"]["slope"].value
    lead = (
        f"Tenfold {kind} go with {slope:+.1f} SIQ among these {len(systems.rows)} systems. "
        "A system above the line is better than its size lets expect."
    )
    sections = [
        Section("chart", "SIQ against size", figures={"siq-size": _sizes_chart(result)}, charts={"siq-size": BAND}),
        Section("systems", systems.title, grid=systems),
        Section("line", line.title, grid=line),
    ]
    return render(sections, title="How good for its size?", lead=lead, made=made)


def _sizes_chart(result: StudyResult) -> go.Figure:
    """Return SIQ against the logarithm of size: systems with their intervals, the line and its band.

    The axis is linear over logarithms, as the page places labels by the values of their marks.
    """
    places = result.content["line"]["places"]
    sizes, line = np.log10([place["size"] for place in places]).round(4).tolist(), [place["siq"] for place in places]
    figure = go.Figure()
    if not any(np.isnan(siq.low) for siq in line):
        outline = [siq.high for siq in line] + [siq.low for siq in reversed(line)]
        shade = {"fill": "toself", "fillcolor": SOFT, "line": {"width": 0}, "hoverinfo": "skip"}
        figure.add_trace(go.Scatter(x=sizes + sizes[::-1], y=np.round(outline, 4).tolist(), mode="lines", **shade))
    on_line = [round(siq.value, 4) for siq in line]
    stroke = {"color": MUTED, "width": 1.5}
    figure.add_trace(go.Scatter(x=sizes, y=on_line, mode="lines", line=stroke, hoverinfo="skip"))
    figure.add_trace(_sized_systems(result.grids[0].rows))
    figure.update_layout(template=STYLE, height=HEIGHT)
    title = f"{KINDS[result.content['by']]} (logarithmic)"
    ticks = _size_ticks(sizes[0], sizes[-1])
    figure.update_xaxes(title_text=title, tickvals=[place for place, _ in ticks], ticktext=[text for _, text in ticks])
    figure.update_yaxes(title_text="Speech IQ")
    return figure


def _size_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return the place and the text of each 1, 2 and 5 times a power of ten between two logarithms, with one beside.

    >>> [text for _, text in _size_ticks(8.2, 9.1)]
    ['100M', '200M', '500M', '1B', '2B']
    """
    ticks = []
    for power in range(math.floor(low) - 1, math.ceil(high) + 1):
        for first in (1, 2, 5):
            text = f"{first}{LETTERS[power]}" if power in LETTERS else f"{first}e{power}"
            ticks.append((round(math.log10(first) + power, 4), text))
    below = [tick for tick in ticks if tick[0] <= low]
    above = [tick for tick in ticks if tick[0] >= high]
    inside = [tick for tick in ticks if low < tick[0] < high]
    return [*below[-1:], *inside, *above[:1]]


def _sized_systems(rows: Sequence[Mapping[str, Any]]) -> go.Scatter:
    siq = [row["siq"] for row in rows]
    hover = [
        f"{row['system']}\nSIQ given size {row['given_size'].value:.1f}, SIQ {row['siq'].value:.1f}" for row in rows
    ]
    marks = draw_systems(
        np.log10([row["size"] for row in rows]).round(4),
        np.array([each.value for each in siq]).round(4),
        short_names([row["system"] for row in rows]),
        [False] * len(siq),
        hover,
    )
    bars = error_bars([each.value for each in siq], [each.ends for each in siq])
    return marks.update(error_y=bars | {"color": MUTED, "thickness": 1, "width": 3})


def _render_robustness(result: StudyResult, studies: Sequence[Robustness], made: Mapping[str, str]) -> str:
    """Return the page of curves over the strength of conditions."""
    sections, grids = [], iter(result.grids)
    for study in studies:
        for number, curves in enumerate(group_curves(study)):
            name, grid = f"robustness-{study.suite}-{number}", next(grids)
            drawn = {name: _curves_chart(curves)}
            sections.append(
                Section(f"{name}-section", grid.title, figures=drawn, charts={name: ""}, grid=grid, notes=study.lines)
            )
    title = "Robustness to noise and other conditions"
    lead = "How scores change with the strength of a condition, on the same clips."
    return render(sections, title=title, lead=lead, made=made)


def list_listening(found: Found, options: ScoringOptions) -> list[Section]:
    """Return a section per category that runs answered with and without its audio (`listen`); none without such."""
    if not found.variants:
        return []
    grids = study_listening(found, options.draws, options.seed).grids
    return [Section(f"listen-{number}", grid.title, grid=grid) for number, grid in enumerate(grids)]


def side_sections(beside: SideTables) -> list[Section]:
    """Return a section per table; that of the times of answers has a chart for each kind of time."""
    charts = {}
    for name in (FIRST_TOKEN, FIRST_AUDIO, TOTAL):
        timed = {key: rows for key, answers in beside.latencies.items() if len(rows := answers.where_known(name))}
        if timed:
            charts[name] = _times_chart(timed, name)
    captions = {name: f"Share of the answers by {TIME_NAMES[name]}" for name in charts}
    return [
        *(Section(f"people-{suite}", grid.title, grid=grid) for suite, grid in beside.people.items()),
        *(Section(f"languages-{n}", grid.title, grid=grid) for n, grid in enumerate(beside.languages)),
        *(Section("translation", grid.title, grid=grid) for grid in beside.translations),
        *(Section("latency", grid.title, figures=charts, charts=captions, grid=grid) for grid in beside.times),
    ]


def _times_chart(latencies: Latencies, name: str) -> go.Figure:
    """Return the empirical distribution of a time: a curve per system and type of task."""
    labels = short_names([f"{system}, {task_type}" for system, task_type in latencies])
    figure = go.Figure()
    for rows, label, style in zip(latencies.values(), labels, _styles(), strict=False):
        times = np.sort(rows.number(name))
        figure.add_trace(
            go.Scatter(
                x=[0, *times.round(4).tolist()],
                y=np.linspace(0, 1, len(times) + 1).round(4).tolist(),
                name=escape(label),
                mode="lines",
                line={**style, "shape": "hv"},
                hovertemplate=f"%{{y:.0%}} within %{{x:.3f}} s<extra>{escape(label)}</extra>",
            )
        )
    figure.update_layout(template=STYLE, height=HEIGHT, showlegend=True, legend=LEGEND)
    figure.update_xaxes(title_text=escape(TIME_NAMES[name]), rangemode="tozero")
    figure.update_yaxes(title_text="Share of answers", range=[0, 1.02], tickformat=".0%")
    return figure


def _render_prediction(result: StudyResult, prediction: Prediction, made: Mapping[str, str]) -> str:
    """Return the page of a prediction: which metric predicts failure, with ROC and calibration curves."""
    count = 1 if result.content["agreement"] else 0
    agreements, (metrics, *grids) = result.grids[:count], result.grids[count:]
    verdict, *notes = result.lines
    drawn = {"roc": _roc(prediction), "calibration": _calibration(prediction)}
    sections = [
        Section("metrics", "Metrics", grid=_add_validated(prediction, metrics), notes=notes),
        Section("curves", "Curves", figures=drawn, charts={"roc": "ROC curves", "calibration": "Calibration"}),
        *(Section(grid.title.split()[0].lower(), grid.title, grid=grid) for grid in grids),
        Section("differences", "Differences", intro=DIFFERENCES, grid=_differences(prediction)),
        *(Section("agreement", grid.title, grid=grid) for grid in agreements),
    ]
    return render(sections, title="What predicts failure?", lead=verdict, made=made)


def _add_validated(prediction: Prediction, metrics: Grid) -> Grid:
    """Return the grid of metrics with what fits to other clips give."""
    *columns, remark = metrics.columns
    for name in ("auc", "efron"):
        columns.append(Column(f"validated_{name}", f"{NAMES[name]}\nvalidated", ".3f"))
    rows = [
        {**row, "validated_auc": predictor.validated.auc, "validated_efron": predictor.validated.efron}
        for row, predictor in zip(metrics.rows, prediction.predictors, strict=True)
    ]
    return metrics._replace(columns=[*columns, remark], rows=rows)


def _differences(prediction: Prediction) -> Grid:
    names = [predictor.metric for predictor in prediction.predictors]
    estimates = {pair: gap.estimate for pair, gap in prediction.gaps.items()}
    columns = [Column("row", "Metric"), *(Column(f"minus {name}", f"minus {name}", "+.3f") for name in names)]
    rows: dict[str, dict[str, Cell]] = {name: {"row": name} for name in names}
    for (a, b), estimate in estimates.items():
        rows[a][f"minus {b}"] = estimate
    return Grid("Differences", columns, [*rows.values()])


def _curves_chart(curves: Sequence[Curve]) -> go.Figure:
    """Return one line per system, from clean audio on the left to the severest strength, with 95 % intervals.

    Strengths are at equal distances; systems are a little apart, so that no interval hides another.
    """
    labels = list_strengths(curves)
    apart = min(APART, SPREAD / len(curves))
    names = short_names([curve.system for curve in curves])
    figure = go.Figure()
    for number, (curve, name) in enumerate(zip(curves, names, strict=True)):
        shift = apart * (number - (len(curves) - 1) / 2)
        places = [labels.index(point.run.label) + shift for point in curve.points]
        figure.add_trace(_line(curve, name, places, number))
    figure.update_layout(template=STYLE, height=HEIGHT, showlegend=True, legend=LEGEND)
    axis = f"{curves[0].series}, from {CLEAN} audio to the severest"
    ticks = {"tickvals": list(range(len(labels))), "ticktext": [escape(label) for label in labels]}
    figure.update_xaxes(**ticks, range=[-MARGIN, len(labels) - 1 + MARGIN], title_text=escape(axis))
    figure.update_yaxes(title_text=escape(curves[0].unit))
    return figure


def _line(curve: Curve, name: str, places: Sequence[float], number: int) -> go.Scatter:
    color = COLORS[number % len(COLORS)]
    values = [point.score.value for point in curve.points]
    bars = error_bars(values, [point.score.ends for point in curve.points])
    return go.Scatter(
        x=[round(place, 4) for place in places],
        y=[round(value, 4) for value in values],
        name=escape(name),
        text=[escape(point.run.label) for point in curve.points],
        mode="lines+markers",
        line={"color": color, "width": 2},
        marker={"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 8, "color": color},
        error_y=bars | {"color": color, "thickness": 1.25, "width": 3},
        hovertemplate=f"{escape(curve.system)}<br>%{{text}}: %{{y:.2f}}<extra></extra>",
    )


def _roc(prediction: Prediction) -> go.Figure:
    """Return the ROC curve of each metric."""
    from sklearn.metrics import roc_curve

    areas = {predictor.metric: predictor.auc.value for predictor in prediction.predictors}
    curves = []
    for (name, risk), style in zip(prediction.risks.items(), _styles(), strict=False):
        false_alarms, caught, _ = roc_curve(prediction.units.failed, risk, drop_intermediate=False)
        curves.append(
            go.Scatter(
                x=false_alarms.round(4).tolist(),
                y=caught.round(4).tolist(),
                name=f"{escape(name)} {areas[name]:.3f}",
                mode="lines",
                line=style,
                hovertemplate=f"catches %{{y:.0%}}, false alarms %{{x:.0%}}<extra>{escape(name)}</extra>",
            )
        )
    return _square(curves, "Successes flagged (false alarms)", "Failures caught")


def _calibration(prediction: Prediction) -> go.Figure:
    """Return the calibration curve of each metric."""
    curves = []
    for predictor, style in zip(prediction.predictors, _styles(), strict=False):
        name = escape(predictor.metric)
        curves.append(
            go.Scatter(
                x=[round(bin.predicted, 4) for bin in predictor.calibration],
                y=[round(bin.observed, 4) for bin in predictor.calibration],
                customdata=[bin.items for bin in predictor.calibration],
                name=name,
                mode="lines+markers",
                line=style,
                hovertemplate=f"predicted %{{x:.0%}}, observed %{{y:.0%}} of %{{customdata}}<extra>{name}</extra>",
            )
        )
    return _square(curves, "Predicted probability of failure (fit to other clips)", "Observed share of failures")


def _styles() -> cycle[dict[str, object]]:
    return cycle([{"color": color, "width": 2, "dash": dash} for dash in DASHES for color in COLORS])


def _square(curves: Sequence[go.Scatter], x: str, y: str) -> go.Figure:
    """Return curves over the unit square, with its diagonal."""
    line = {"color": MUTED, "width": 1, "dash": "dot"}
    diagonal = go.Scatter(x=[0, 1], y=[0, 1], mode="lines", line=line, hoverinfo="skip", showlegend=False)
    figure = go.Figure([diagonal, *curves])
    figure.update_layout(template=STYLE, height=HEIGHT, showlegend=True, legend=LEGEND)
    figure.update_xaxes(title_text=x, range=[-0.02, 1.02], tickformat=".0%")
    figure.update_yaxes(title_text=y, range=[-0.02, 1.02], tickformat=".0%")
    return figure
