"""Write the page of a prediction: which metric predicts failure, with ROC and calibration curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import plotly.graph_objects as go

from speechiq.reducer.report import figures, page, provenance
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.studies.validity import published
from speechiq.reducer.studies.validity.prediction import Prediction
from speechiq.reducer.studies.validity.predictors import CAUGHT

#: Colors that are legible on light and on dark paper.
COLORS = ("#2a9d8f", "#e76f51", "#5b8def", "#c77dff", "#d4a017", "#e05297", "#6aa84f", "#8d99ae")
DASHES = ("solid", "dash", "dot")
HEIGHT = 460
SECTIONS = ("metrics", "curves", "thresholds", "combinations", "differences", "agreement")


def render(
    prediction: Prediction, agreements: Sequence[Mapping[str, Any]], tasks: Sequence[TaskRun], command: str = ""
) -> str:
    """Return the page.

    Args:
        prediction: The prediction.
        agreements: Agreement of each two sources of labels (`agreement.compare_each_pair`).
        tasks: The tasks that were read.
        command: The command that makes the page; "" leaves it out.
    """
    shown = {"combinations": bool(prediction.combinations), "agreement": bool(agreements)}
    sections = [id for id in SECTIONS if shown.get(id, True)]
    charts = {"roc": _roc(prediction), "calibration": _calibration(prediction)}
    return page.render(
        "prediction.html.j2",
        page.FEW_SCRIPTS,
        title="What predicts failure?",
        lead=published.verdict(prediction),
        data={"charts": {id: figures.as_json(figure) for id, figure in charts.items()}},
        links={id: id.title() for id in sections},
        made=provenance.made_of(tasks, command),
        prediction=prediction,
        agreements=agreements,
        notes=list(published.notes_of(prediction)),
        aims=CAUGHT,
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
                name=f"{figures.escape(name)} {areas[name]:.3f}",
                mode="lines",
                line=style,
                hovertemplate="catches %{y:.0%}, false alarms %{x:.0%}<extra>" + figures.escape(name) + "</extra>",
            )
        )
    return _square(curves, "Successes flagged (false alarms)", "Failures caught")


def _calibration(prediction: Prediction) -> go.Figure:
    """Return the calibration curve of each metric."""
    curves = [
        go.Scatter(
            x=[round(bin.predicted, 4) for bin in of.calibration],
            y=[round(bin.observed, 4) for bin in of.calibration],
            customdata=[bin.items for bin in of.calibration],
            name=figures.escape(of.metric),
            mode="lines+markers",
            line=style,
            hovertemplate="predicted %{x:.0%}, observed %{y:.0%} of %{customdata}<extra>"
            + figures.escape(of.metric)
            + "</extra>",
        )
        for of, style in zip(prediction.predictors, _styles(), strict=False)
    ]
    return _square(curves, "Predicted probability of failure (fit to other clips)", "Observed share of failures")


def _styles() -> cycle[dict[str, object]]:
    return cycle([{"color": color, "width": 2, "dash": dash} for dash in DASHES for color in COLORS])


def _square(curves: Sequence[go.Scatter], x: str, y: str) -> go.Figure:
    """Return curves over the unit square, with its diagonal."""
    diagonal = go.Scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": figures.MUTED, "width": 1, "dash": "dot"}, hoverinfo="skip",
        showlegend=False,
    )  # fmt: skip
    figure = go.Figure([diagonal, *curves])
    figure.update_layout(
        template=figures.STYLE, height=HEIGHT, showlegend=True, legend={"font": {"color": figures.INK}}
    )
    figure.update_xaxes(title_text=x, range=[-0.02, 1.02], tickformat=".0%")
    figure.update_yaxes(title_text=y, range=[-0.02, 1.02], tickformat=".0%")
    return figure
