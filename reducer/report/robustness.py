"""Draw the page of `siq study robustness`: curves of scores over the strength of conditions, and their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import plotly.graph_objects as go

from speechiq.reducer.report import page
from speechiq.reducer.report.figures import INK, STYLE, as_json, escape
from speechiq.reducer.report.identity import short_names
from speechiq.reducer.studies.robustness.curves import Curve
from speechiq.reducer.studies.robustness.series import CLEAN
from speechiq.reducer.studies.robustness.study import Robustness
from speechiq.reducer.tables.robustness_table import describe, title_of, title_of_slope

#: Colors that differ for people with any color vision, in both themes (Okabe and Ito).
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#7a7a7a")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star")
HEIGHT = 380
#: Distance of two systems at one strength, at most that which keeps all systems within `SPREAD`, and the empty space
#: beside the first and the last strength; in distances between strengths.
APART, SPREAD, MARGIN = 0.05, 0.4, 0.3


def render(found: Sequence[Robustness], made: Mapping[str, str]) -> str:
    """Return the page.

    Args:
        found: What conditions do, by suite.
        made: Heading -> text of the facts at the top: date, versions, command.
    """
    charts, sections = {}, []
    for suite in found:
        for number, (key, group) in enumerate(groupby(suite.curves, key=lambda curve: (curve.measure, curve.series))):
            curves, name = list(group), f"robustness-{suite.suite}-{number}"
            charts[name] = as_json(chart(curves))
            sections.append(_section(name, suite, *key, curves))
    return page.render(
        "robustness.html.j2",
        page.FEW_SCRIPTS,
        title="Robustness to noise and other conditions",
        lead="How scores change with the strength of a condition, on the same clips.",
        data={"charts": charts},
        links={f"{section['id']}-section": section["heading"] for section in sections},
        made=made,
        sections=sections,
        describe=describe,
    )


def _section(name: str, suite: Robustness, measure: str, series: str, curves: Sequence[Curve]) -> dict[str, Any]:
    places = {point.run.label: point.run.severity for curve in curves for point in curve.points}
    return {
        "id": name,
        "heading": title_of(curves[0]),
        "unit": curves[0].unit,
        "height": HEIGHT,
        "slope": title_of_slope(curves[0]).replace("slope", "Slope"),
        "labels": sorted(places, key=lambda label: places[label]),
        "curves": [(curve, {point.run.label: point for point in curve.points}) for curve in curves],
        "crossings": [each for each in suite.crossings if (each.measure, each.series) == (measure, series)],
        "notes": suite.notes,
    }


def chart(curves: Sequence[Curve]) -> go.Figure:
    """Return one line per system, from clean audio on the left to the severest strength, with 95 % intervals.

    Strengths are at equal distances; systems are a little apart, so that no interval hides another.
    """
    severities = {point.run.label: point.run.severity for curve in curves for point in curve.points}
    labels = sorted(severities, key=lambda label: severities[label])
    apart = min(APART, SPREAD / len(curves))
    names = short_names([curve.system for curve in curves])
    figure = go.Figure()
    for number, (curve, name) in enumerate(zip(curves, names, strict=True)):
        shift = apart * (number - (len(curves) - 1) / 2)
        places = [labels.index(point.run.label) + shift for point in curve.points]
        figure.add_trace(_line(curve, name, places, number))
    figure.update_layout(
        template=STYLE,
        height=HEIGHT,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"color": INK}},
    )
    axis = f"{curves[0].series}, from {CLEAN} audio to the severest"
    ticks = {"tickvals": list(range(len(labels))), "ticktext": [escape(label) for label in labels]}
    figure.update_xaxes(**ticks, range=[-MARGIN, len(labels) - 1 + MARGIN], title_text=escape(axis))
    figure.update_yaxes(title_text=escape(curves[0].unit))
    return figure


def _line(curve: Curve, name: str, places: Sequence[float], number: int) -> go.Scatter:
    values = np.array([point.score[:3] for point in curve.points])
    color = COLORS[number % len(COLORS)]
    bars = None
    if not np.isnan(values).any():
        above, below = values[:, 2] - values[:, 0], values[:, 0] - values[:, 1]
        bars = {"array": above.round(4).tolist(), "arrayminus": below.round(4).tolist(), "symmetric": False}
        bars |= {"type": "data", "color": color, "thickness": 1.25, "width": 3}
    return go.Scatter(
        x=[round(place, 4) for place in places],
        y=values[:, 0].round(4).tolist(),
        name=escape(name),
        text=[escape(point.run.label) for point in curve.points],
        mode="lines+markers",
        line={"color": color, "width": 2},
        marker={"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 8, "color": color},
        error_y=bars,
        hovertemplate=f"{escape(curve.system)}<br>%{{text}}: %{{y:.2f}}<extra></extra>",
    )
